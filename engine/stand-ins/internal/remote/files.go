package remote

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// Files copies to a host over SFTP. As in the official provider it is not atomic, sets no mode or owner, and removes nothing.
// Missing folders on the way are made.
type Files struct {
	client *sftp.Client
}

// OpenFiles opens an SFTP session, which has to be closed.
func OpenFiles(client *ssh.Client) (*Files, error) {
	// Each file is written once and from its beginning, so that writes may be under way at the same time.
	session, err := sftp.NewClient(client, sftp.UseConcurrentWrites(true))
	if err != nil {
		return nil, err
	}
	return &Files{session}, nil
}

// Close ends the session.
func (f *Files) Close() error {
	return f.client.Close()
}

// CopyText writes a text to a path that is no folder.
func (f *Files) CopyText(text, target string) error {
	there, err := f.stat(target)
	if err != nil {
		return err
	}
	if there != nil && there.IsDir() {
		return fmt.Errorf("remote path %s is a directory; when using a text asset, remotePath must be a file path", target)
	}
	if err := f.makeFolders(path.Dir(target)); err != nil {
		return err
	}
	return f.write(strings.NewReader(text), target)
}

// CopyFile copies a file to a path, or into it if it is a folder.
func (f *Files) CopyFile(source, target string) error {
	there, err := f.stat(target)
	switch {
	case err != nil:
		return err
	case there == nil:
		err = f.makeFolders(path.Dir(target))
	case there.IsDir():
		target = path.Join(target, filepath.Base(source))
	}
	if err != nil {
		return err
	}
	return f.upload(source, target)
}

// CopyFolder copies a folder "dir" to target/dir; of "dir/" only the content, to target.
func (f *Files) CopyFolder(source, target string) error {
	if !strings.HasSuffix(source, "/") {
		target = path.Join(target, filepath.Base(source))
	}
	if err := f.makeFolders(path.Dir(target)); err != nil {
		return err
	}
	return fs.WalkDir(os.DirFS(source), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return f.makeFolder(path.Join(target, name))
		default:
			return f.upload(filepath.Join(source, name), path.Join(target, name))
		}
	})
}

func (f *Files) upload(source, target string) error {
	file, err := os.Open(source)
	if err != nil {
		return err
	}
	defer file.Close()
	return f.write(file, target)
}

func (f *Files) write(content io.Reader, target string) error {
	file, err := f.client.Create(target)
	if err != nil {
		return fmt.Errorf("failed to create remote file %s: %w", target, err)
	}
	_, err = file.ReadFrom(content)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("failed to write remote file %s: %w", target, err)
	}
	return nil
}

// stat gives nil where there is nothing at the path.
func (f *Files) stat(target string) (fs.FileInfo, error) {
	info, err := f.client.Stat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("failed to stat remote path %s: %w", target, err)
	}
	return info, nil
}

// makeFolders makes a folder and all above it.
func (f *Files) makeFolders(folder string) error {
	if there, err := f.stat(folder); err != nil || there != nil {
		return err
	}
	if err := f.makeFolders(path.Dir(folder)); err != nil {
		return err
	}
	return f.makeFolder(folder)
}

func (f *Files) makeFolder(folder string) error {
	there, err := f.stat(folder)
	switch {
	case err != nil:
		return err
	case there != nil && !there.IsDir():
		return fmt.Errorf("remote path %s exists but is not a directory", folder)
	case there != nil:
		return nil
	}
	if err := f.client.Mkdir(folder); err != nil {
		return fmt.Errorf("failed to create remote directory %s: %w", folder, err)
	}
	return nil
}
