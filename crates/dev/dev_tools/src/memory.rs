//! A folder whose files are kept in memory, for databases of tests.
//!
//! For each new file, ext4 looks at all files that were removed recently. While tests created and dropped
//! a database each, this took 40 % of the processor time.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::process::output;

/// Where Linux keeps files in memory.
const FOLDER: &str = "/dev/shm";
/// The free space below which files are better kept elsewhere. Containers often have 64 MiB.
const MIN_FREE_KIB: u64 = 4 * 1024 * 1024;

/// Returns a folder in memory, if this system has one with enough free space.
pub fn folder() -> Option<PathBuf> {
    let printed = output(Command::new("df").args(["-Pk", "-t", "tmpfs", FOLDER])).ok()?;
    (free_kib(&printed)? >= MIN_FREE_KIB).then(|| Path::new(FOLDER).to_owned())
}

/// Parses the free space in the output of `df -Pk`.
fn free_kib(printed: &str) -> Option<u64> {
    let free = printed.lines().nth(1)?.split_whitespace().nth(3)?;
    free.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_free_space() {
        let printed = "Filesystem 1024-blocks  Used Available Capacity Mounted on\n\
            tmpfs      24683672     1092  24682580       1% /dev/shm\n";
        assert_eq!(free_kib(printed), Some(24_682_580));
        assert_eq!(free_kib(""), None);
    }
}
