package containertest

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// files writes a tar of programs, the libraries that they load, and npm with its modules.
func files(w io.Writer) error {
	t := tar.NewWriter(w)
	done := map[string]bool{}
	for _, name := range []string{"node", "sh", "tar"} {
		path, err := exec.LookPath(name)
		if err != nil {
			return err
		}
		loads, err := exec.Command("ldd", path).Output()
		if err != nil {
			return fmt.Errorf("ldd %s: %w", path, err)
		}
		if err := copyFile(t, path, "/bin/"+name); err != nil {
			return err
		}
		for _, library := range regexp.MustCompile(`/\S*\blib\S*`).FindAllString(string(loads), -1) {
			if !done[library] {
				done[library] = true
				if err := copyFile(t, library, library); err != nil {
					return err
				}
			}
		}
	}
	npm, err := exec.LookPath("npm")
	if err == nil {
		npm, err = filepath.EvalSymlinks(npm)
	}
	if err != nil {
		return err
	}
	command := "#!/bin/sh\nexec node " + npm + " \"$@\"\n"
	if err := t.WriteHeader(&tar.Header{Name: "bin/npm", Mode: 0o755, Size: int64(len(command))}); err != nil {
		return err
	}
	if _, err := io.WriteString(t, command); err != nil {
		return err
	}
	modules := filepath.Dir(filepath.Dir(filepath.Dir(npm))) // of modules/npm/bin/npm-cli.js
	if err := copyFolder(t, modules); err != nil {
		return err
	}
	return t.Close()
}

func copyFile(t *tar.Writer, from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = t.WriteHeader(&tar.Header{Name: strings.TrimPrefix(to, "/"), Mode: int64(info.Mode().Perm()), Size: info.Size()})
	}
	if err == nil {
		_, err = io.Copy(t, f)
	}
	return err
}

// copyFolder copies a folder's files and links, to where they are here.
func copyFolder(t *tar.Writer, folder string) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return t.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: strings.TrimPrefix(path, "/"), Linkname: to})
		}
		return copyFile(t, path, path)
	})
}
