package sqlitestore

import (
	"fmt"
	"path/filepath"
	"syscall"
)

// sharedFileSystems are those that other machines may see too, by statfs's number.
var sharedFileSystems = map[uint32]string{
	0x6969: "NFS", 0x517b: "SMB", 0xfe534d42: "SMB", 0xff534d42: "CIFS", 0x01021997: "9p", 0x65735546: "FUSE or virtiofs",
	0x5346414f: "AFS", 0x00c36400: "Ceph", 0x0bd00bd0: "Lustre", 0x47504653: "GPFS", 0x01161970: "GFS2", 0x7461636f: "OCFS2",
}

// networkWarning looks at the file system of a file.
func networkWarning(path string) string {
	var info syscall.Statfs_t
	if syscall.Statfs(filepath.Dir(path), &info) != nil {
		return ""
	}
	return warningFor(path, uint32(info.Type))
}

func warningFor(path string, number uint32) string {
	name, shared := sharedFileSystems[number]
	if !shared {
		return ""
	}
	return fmt.Sprintf("%s is on a file system of type %s: WAL needs memory that all processes share, and locks that hold; "+
		"use it from this one machine only, or better a local disk, or PostgreSQL", path, name)
}
