package process

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// plainPath is what programs look through where PATH is not set.
const plainPath = "/usr/bin:/bin"

// desktopPath is the PATH of programs that a desktop starts, at the least: on macOS all have
// it, on other systems some have more.
func desktopPath() string {
	switch runtime.GOOS {
	case "darwin":
		return "/usr/bin:/bin:/usr/sbin:/sbin"
	case "windows": // where terminals have no other
		return os.Getenv("PATH")
	}
	return "/usr/local/bin:/usr/bin:/bin:/snap/bin"
}

// usualPlaces are folders in which people have node, uv and the like. A client that a
// desktop starts has a short PATH without them, on macOS /usr/bin:/bin:/usr/sbin:/sbin.
func usualPlaces() []string {
	home, _ := os.UserHomeDir()
	at := func(variable, folder, within string) string {
		if dir := os.Getenv(variable); dir != "" {
			return filepath.Join(dir, within)
		}
		return filepath.Join(home, folder, within) // without a home relative, and not taken
	}
	places := []string{
		"/opt/homebrew/bin", "/usr/local/bin", "/home/linuxbrew/.linuxbrew/bin",
		nvm(at("NVM_DIR", ".nvm", "")),
		at("VOLTA_HOME", ".volta", "bin"),
		at("ASDF_DATA_DIR", ".asdf", "shims"),
		at("MISE_DATA_DIR", ".local/share/mise", "shims"),
		at("FNM_DIR", ".local/share/fnm", "aliases/default/bin"),
		at("", "Library/Application Support/fnm", "aliases/default/bin"),
		at("PNPM_HOME", ".local/share/pnpm", ""), at("", "Library/pnpm", ""),
		at("", ".local/bin", ""), at("", ".cargo/bin", ""), at("", "go/bin", ""), at("", ".bun/bin", ""), at("", ".deno/bin", ""),
	}
	if runtime.GOOS == "windows" {
		pythons, _ := filepath.Glob(at("LOCALAPPDATA", "AppData/Local", "Programs/Python/Python*"))
		places = []string{
			at("APPDATA", "AppData/Roaming", "npm"), at("ProgramFiles", "", "nodejs"), at("LOCALAPPDATA", "AppData/Local", "Microsoft/WinGet/Links"),
			at("", ".local/bin", ""), at("", ".cargo/bin", ""), at("", ".bun/bin", ""), at("", "scoop/shims", ""),
		}
		slices.Reverse(pythons) // the newest first
		for _, dir := range pythons {
			places = append(places, dir, filepath.Join(dir, "Scripts"))
		}
	}
	return places
}

// nvm is the folder of the version of node that nvm calls default, else of the newest.
func nvm(dir string) string {
	versions := filepath.Join(dir, "versions", "node")
	entries, _ := os.ReadDir(versions)
	want := "default"
	for range 3 { // as default → lts/* → lts/iron → v20.11.0
		alias := firstBytes(filepath.Join(dir, "alias", filepath.FromSlash(want)))
		if !filepath.IsLocal(alias) {
			break
		}
		want = alias
	}
	newest, chosen := "", ""
	for _, e := range entries {
		v := e.Name()
		if !semver.IsValid(v) {
			continue
		}
		if newest == "" || semver.Compare(v, newest) > 0 {
			newest = v
		}
		if strings.HasPrefix(v+".", "v"+strings.TrimPrefix(want, "v")+".") && (chosen == "" || semver.Compare(v, chosen) > 0) {
			chosen = v
		}
	}
	switch {
	case chosen != "":
		return filepath.Join(versions, chosen, "bin")
	case newest != "":
		return filepath.Join(versions, newest, "bin")
	}
	return ""
}

// firstBytes is what a small file holds, "" where it is none: to open a named pipe waits for somebody to
// write, and a device has no end.
func firstBytes(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<10 {
		return ""
	}
	data, _ := os.ReadFile(path)
	return strings.TrimSpace(string(data))
}

// addable returns those of dirs that can go on a PATH which has list: folders that are
// there and that not everybody can write, by their full path.
func addable(list []string, dirs ...string) []string {
	var added []string
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) || strings.ContainsRune(dir, filepath.ListSeparator) {
			continue
		}
		dir = filepath.Clean(dir)
		if slices.Contains(list, dir) || slices.Contains(added, dir) {
			continue
		}
		info, err := os.Stat(dir)
		if err == nil && info.IsDir() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o002 == 0) {
			added = append(added, dir)
		}
	}
	return added
}
