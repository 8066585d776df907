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

/// A mounted folder or file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// The path of it.
    pub(super) point: PathBuf,
    /// The type of the file system.
    kind: String,
}

impl Mount {
    /// Returns the mount that contains the file at `path`; `None` if the system does not tell.
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

    /// Returns true if the file system is one of another machine, which implements `flock` as locks of
    /// `fcntl` (NFS) or of the protocol (SMB).
    pub(super) fn is_network(&self) -> bool {
        matches!(&*self.kind, "nfs" | "nfs4" | "cifs" | "smb3")
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
        (mount.point.display().to_string(), mount.is_network())
    }

    #[test]
    fn a_file_belongs_to_the_innermost_and_last_mount_around_it() {
        for (path, point, is_network) in [
            ("/database/agents.db", "/", false),
            ("/srv/two words/agents.db", "/srv/two words", true),
            ("/data/other.db", "/data", false),
            ("/data/agents.db", "/data/agents.db", false),
        ] {
            assert_eq!(found(path), (point.to_owned(), is_network), "{path}");
        }
        let other = Mount::find(SAMPLE, Path::new("/data/other.db"));
        assert_eq!(other.map(|mount| mount.kind).as_deref(), Some("xfs"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_mounts_of_this_process_are_known() {
        let mount = Mount::of(Path::new("/proc/self")).expect("a list of mounts");
        assert_eq!((&*mount.kind, mount.point), ("proc", "/proc".into()));
    }
}
