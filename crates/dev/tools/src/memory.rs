//! A folder whose files are kept in memory.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::process::output;

/// Where Linux keeps files in memory.
const FOLDER: &str = "/dev/shm";
/// The free space that tests and their databases never use up.
const MIN_FREE_KIB: u64 = 4 * 1024 * 1024;

/// Returns a folder in memory, if this system has one with enough free space; containers often have 64 MiB.
pub fn folder() -> Option<PathBuf> {
    let printed = output(Command::new("df").args(["-Pk", FOLDER])).ok()?;
    (free_kib(&printed)? >= MIN_FREE_KIB).then(|| Path::new(FOLDER).to_owned())
}

/// Parses the free space of a file system that is in memory.
fn free_kib(printed: &str) -> Option<u64> {
    let mut columns = printed.lines().nth(1)?.split_whitespace();
    let is_in_memory = columns.next()? == "tmpfs";
    let free = columns.nth(2)?.parse().ok()?;
    is_in_memory.then_some(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADING: &str = "Filesystem     1024-blocks     Used Available Capacity Mounted on\n";

    #[test]
    fn reads_the_free_space_of_a_file_system_in_memory() {
        let printed =
            format!("{HEADING}tmpfs             24683672     1092  24682580       1% /dev/shm\n");
        assert_eq!(free_kib(&printed), Some(24_682_580));
        let on_disk =
            format!("{HEADING}/dev/vda         263115272 44180868  51000000      47% /\n");
        assert_eq!(free_kib(&on_disk), None);
        assert_eq!(free_kib(""), None);
    }
}
