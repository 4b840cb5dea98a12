package container

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
)

// Bounds of packages.
const (
	maxPackages = 20
	maxFolders  = 8                     // of MaxPackageBytes, in all of Dir
	installTime = 5 * time.Minute       // of npm
	unused      = time.Hour             // after which a folder may go: no program runs for as long
	maxFiles    = 50_000                // of one program's packages, folders too
	installRAM  = 512 << 20             // of npm itself
	installEnv  = "NPM_CONFIG_REGISTRY" // where npm finds packages, if the proxy's environment says so
)

// packageName has names with exact versions. Nothing of it can be a path, URL, tag, alias or flag,
// which npm takes too.
var packageName = regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*@\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// A folder of Dir is named for what is installed there. New ones have another name until all is in.
var folderName = regexp.MustCompile(`^[0-9a-f]{32}$`)

// packages returns the folder where these packages are installed, which they are if need be. None
// need none: "".
func (e *Engine) packages(ctx context.Context, p *program, names []string) (folder string, err error) {
	if len(names) == 0 {
		return "", nil
	}
	names, err = e.checkPackages(names)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(e.opts.Image + "\n" + strings.Join(names, "\n")))
	folder = filepath.Join(e.opts.Dir, hex.EncodeToString(sum[:16]))
	if used(folder) {
		return folder, nil
	}
	select {
	case e.installing <- struct{}{}:
		defer func() { <-e.installing }()
	case <-ctx.Done():
		return "", limited(ctx, "the time limit passed while other packages were installed")
	}
	if used(folder) { // meanwhile
		return folder, nil
	}
	if err := e.makeRoom(); err != nil {
		return "", err
	}
	return folder, e.install(ctx, p, names, folder)
}

// used notes that a folder is used now, if it is there.
func used(folder string) bool {
	now := time.Now()
	return os.Chtimes(folder, now, now) == nil
}

// checkPackages returns names sorted, each once.
func (e *Engine) checkPackages(names []string) ([]string, error) {
	const hint = `name packages of npm with their exact versions, as in ["lodash@4.17.21"]`
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	for _, name := range names {
		if len(name) > 300 || !packageName.MatchString(name) {
			return nil, doc.Invalid(hint, "package %s is not allowed: neither paths, URLs, git, tags nor ranges are", show.Quote(show.Clip(name, 100)))
		}
	}
	switch {
	case len(names) > maxPackages:
		return nil, doc.Invalid(hint, "%d packages; %d are allowed", len(names), maxPackages)
	case e.opts.Dir == "":
		return nil, unavailable("there is no folder for packages", nil)
	case runtime.GOOS != "windows" && strings.ContainsAny(e.opts.Dir, ":"):
		return nil, unavailable("the folder for packages has a colon in its path, which podman and docker cannot read", nil)
	}
	return names, nil
}

// install has npm install packages in a container, and reads from it what is to be in folder. The
// container has the network, but nothing of this machine, and is not allowed to run what packages bring.
func (e *Engine) install(ctx context.Context, p *program, names []string, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	began := time.Now()
	to, err := os.MkdirTemp(e.opts.Dir, "new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(to)
	if err := os.Chmod(to, 0o755); err != nil { // the user of containers is another; e.opts.Dir is not for others
		return err
	}
	name := newName()
	memory := 2*e.opts.MaxPackageBytes + installRAM // the packages and what npm fetched of them are in memory
	args := append(closed(p, name, memory, "2", 2*maxProcesses, 2*e.opts.MaxPackageBytes), "--workdir", "/tmp")
	if os.Getenv(installEnv) != "" {
		args = append(args, "--env", installEnv)
	}
	args = append(args, e.opts.Image, "-c", installScript, "sh")
	b, err := start(p, name, append(args, names...))
	if err != nil {
		return unavailable(fmt.Sprintf("%s cannot be started: %v", p.name, err), err)
	}
	defer b.close()
	b.in.Close()
	defer b.endWith(ctx)()
	err = extract(b.out, to, e.opts.MaxPackageBytes)
	if err == nil {
		select {
		case <-b.exited:
		case <-ctx.Done():
		}
	}
	switch {
	case ctx.Err() != nil:
		return limited(ctx, fmt.Sprintf("the time limit passed before npm had installed %s", strings.Join(names, " ")))
	case err != nil && !errors.Is(err, errNothing):
		b.kill()
		return doc.Invalid("declare fewer packages, or smaller ones", "the packages %s cannot be installed: %v", strings.Join(names, " "), err)
	case err != nil || b.code != 0:
		return e.notInstalled(b, names)
	}
	if err := os.Rename(to, folder); err != nil && !used(folder) { // or another process was faster
		return err
	}
	e.opts.Logger.Info("packages were installed", "packages", strings.Join(names, " "), "time", time.Since(began).Round(time.Millisecond))
	return nil
}

// installScript has sh install its arguments, and write them as a tar.
const installScript = `ulimit -c 0
npm install --prefix /tmp/p --cache /tmp/c --ignore-scripts --no-audit --no-fund --no-bin-links --no-package-lock \
  --no-update-notifier --loglevel=error --fetch-retries=1 --save-exact -- "$@" >&2 && cd /tmp/p && exec tar -cf - node_modules`

// userInfo is the part of a URL that may be a password.
var userInfo = regexp.MustCompile(`//[^/@\s]+@`)

// notInstalled is what npm said, or the container.
func (e *Engine) notInstalled(b *box, names []string) error {
	<-b.exited
	stderr := userInfo.ReplaceAllString(b.errs.String(), "//")
	var said []string
	for line := range strings.Lines(stderr) {
		text, ours := strings.CutPrefix(line, "npm error ")
		if !ours {
			text, ours = strings.CutPrefix(line, "npm ERR! ")
		}
		if text = strings.TrimSpace(text); ours && text != "" && len(said) < 3 && !strings.HasPrefix(text, "A complete log") {
			said = append(said, show.Clip(show.Printable(text), 200))
		}
	}
	if said == nil {
		err := b.program.failure("run", stderr, fmt.Errorf("exit code %d", b.code))
		e.opts.Logger.Warn("packages cannot be installed", "error", err)
		return unavailable(err.Error(), err)
	}
	return doc.Invalid("", "npm cannot install %s: %s", strings.Join(names, " "), strings.Join(said, "; "))
}

// makeRoom removes folders that were not used for an hour, oldest first, until there is room for
// another. Only what has a name of ours is touched.
func (e *Engine) makeRoom() error {
	type kept struct {
		path  string
		last  time.Time
		bytes int64
	}
	var all []kept
	var bytes int64
	entries, err := os.ReadDir(e.opts.Dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || !folderName.MatchString(entry.Name()) {
			continue
		}
		k := kept{filepath.Join(e.opts.Dir, entry.Name()), info.ModTime(), 0}
		_ = filepath.WalkDir(k.path, func(_ string, d fs.DirEntry, err error) error {
			if info, infoErr := d.Info(); err == nil && infoErr == nil {
				k.bytes += info.Size()
			}
			return nil
		})
		all, bytes = append(all, k), bytes+k.bytes
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Compare(a.last.UnixNano(), b.last.UnixNano()) })
	most := (maxFolders - 1) * e.opts.MaxPackageBytes
	for _, k := range all {
		if bytes <= most || time.Since(k.last) < unused {
			break
		}
		if err := remove(k.path); err != nil {
			return err
		}
		bytes -= k.bytes
	}
	if bytes > most {
		return doc.Invalid("use packages that other tools use, or call again in an hour",
			"there is no room for packages: those in use take %s", humanize.IBytes(uint64(bytes)))
	}
	return nil
}

// remove removes a folder as a whole: nobody finds a part of it.
func remove(folder string) error {
	old := filepath.Join(filepath.Dir(folder), "old-"+random())
	if err := os.Rename(folder, old); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

// removeOldFolders removes folders that a proxy was making or removing when it was killed.
func (e *Engine) removeOldFolders() {
	for _, pattern := range []string{"new-*", "old-*"} {
		found, _ := filepath.Glob(filepath.Join(e.opts.Dir, pattern))
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > unused {
				_ = os.RemoveAll(path)
			}
		}
	}
}
