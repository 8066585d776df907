//! The mount that contains a file.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The mounts of this process; only Linux has this file.
const MOUNTS: &str = "/proc/self/mountinfo";

/// The characters that the list of mounts escapes.
const ESCAPED: [(&str, &str); 4] = [
    ("\\040", " "),
    ("\\011", "\t"),
    ("\\012", "\n"),
    ("\\134", "\\"),
];

/// Local file systems, whose locks Linux implements itself.
const INDEPENDENT_LOCKS: [&str; 10] = [
    "bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs",
];

/// A mounted folder or file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// The mount point.
    pub(super) point: PathBuf,
    /// The type of the file system.
    kind: String,
}

impl Mount {
    /// Returns the mount that contains the file at `path`; `None` if the system has no list of mounts.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let mounts = fs::read(MOUNTS).ok()?;
        Self::find(&String::from_utf8_lossy(&mounts), path)
    }

    /// Returns the innermost mount around `path`, and the last one of several at the same point, which
    /// hides the others.
    fn find(mounts: &str, path: &Path) -> Option<Self> {
        mounts
            .lines()
            .filter_map(Self::parse)
            .filter(|mount| path.starts_with(&mount.point))
            .max_by_key(|mount| mount.point.components().count())
    }

    /// Parses a line such as `36 35 98:0 /part /data rw,noatime master:1 - ext4 /dev/sda rw`.
    fn parse(line: &str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let point = mount.split(' ').nth(4)?.to_owned();
        let unescape = |text: String, (escaped, plain)| text.replace(escaped, plain);
        Some(Self {
            point: ESCAPED.into_iter().fold(point, unescape).into(),
            kind: file_system.split(' ').next()?.to_owned(),
        })
    }

    /// Returns true if locks of `flock` and of `fcntl` are known to be independent there. Network and
    /// cluster file systems, and the systems without a list of mounts (macOS, BSD), let them conflict.
    pub(super) fn has_independent_locks(&self) -> bool {
        INDEPENDENT_LOCKS.contains(&&*self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "\
21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
30 21 0:40 / /srv/two\\040words rw - nfs4 server:/ rw
31 21 0:41 / /data rw - tmpfs tmpfs rw
32 31 0:42 / /data rw - xfs /dev/sdb rw
33 32 0:42 /agents.db /data/agents.db rw - xfs /dev/sdb rw
";

    fn found(path: &str) -> (String, bool) {
        let mount = Mount::find(SAMPLE, Path::new(path)).expect("the root is a mount");
        let is_independent = mount.has_independent_locks();
        (mount.point.display().to_string(), is_independent)
    }

    #[test]
    fn a_file_belongs_to_the_innermost_and_last_mount_around_it() {
        for (path, point, is_independent) in [
            ("/database/agents.db", "/", true),
            ("/srv/two words/agents.db", "/srv/two words", false),
            ("/data/other.db", "/data", true),
            ("/data/agents.db", "/data/agents.db", true),
        ] {
            assert_eq!(found(path), (point.to_owned(), is_independent), "{path}");
        }
        let other = Mount::find(SAMPLE, Path::new("/data/other.db"));
        assert_eq!(other.map(|mount| mount.kind).as_deref(), Some("xfs"));
    }

    #[test]
    fn locks_are_independent_only_on_file_systems_that_are_known_to_be_local() {
        for kind in [
            "nfs4",
            "cifs",
            "smb3",
            "ceph",
            "gfs2",
            "ocfs2",
            "lustre",
            "9p",
            "fuse.sshfs",
            "later",
        ] {
            let line = format!("21 1 254:0 / / rw shared:1 - {kind} source rw");
            let mount = Mount::parse(&line).expect("a mount");
            assert!(!mount.has_independent_locks(), "{kind}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_mounts_of_this_process_are_known() {
        let mount = Mount::of(Path::new("/proc/self")).expect("a list of mounts");
        assert_eq!((&*mount.kind, mount.point), ("proc", "/proc".into()));
    }
}
