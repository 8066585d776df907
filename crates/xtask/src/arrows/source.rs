//! The crates that source code uses: the first names of its paths.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use super::{
    manifests::Package,
    table::{WIRING, allows, layer},
    test_code::{ProductCode, without_tests},
    tokens::{Piece, Token, tokens},
};

/// Keywords that may precede a path with a leading `::`.
const BEFORE_A_PATH: &[&str] = &[
    "as", "dyn", "else", "for", "impl", "in", "mut", "return", "use",
];

/// Crates in the code of a package that the table forbids; those in tests are free.
pub(super) fn faults(package: &Package, packages: &[Package]) -> Result<Vec<String>> {
    let (Some(layer), Some(folder)) = (layer(&package.name), package.manifest_path.parent()) else {
        return Ok(vec![]);
    };
    let folder = folder.join("src");
    let ours = packages
        .iter()
        .map(|it| (it.name_in_code(), it.name.as_str()))
        .collect();
    let files = shipped_files(&folder)?;
    let mut faults = Vec::new();
    for (path, source) in &files {
        let in_wiring = path.components().next().is_some_and(|first| {
            Path::new(first.as_os_str())
                .file_stem()
                .is_some_and(|stem| stem == WIRING)
        });
        for (name, line) in crates_named(&without_tests(&tokens(source)).tokens) {
            let used = package_name(name, &ours);
            if !allows(layer, &used, in_wiring) {
                let path = path.display();
                faults.push(format!("{}: src/{path}:{line} names {name}", package.name));
            }
        }
    }
    Ok(faults)
}

/// The package of a crate name in code.
fn package_name(name: &str, ours: &BTreeMap<String, &str>) -> String {
    ours.get(name)
        .map_or_else(|| name.replace('_', "-"), |package| (*package).to_owned())
}

/// Returns the source files of a folder by their path in it, without files of tests.
fn shipped_files(folder: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut files = BTreeMap::new();
    read_folder(folder, Path::new(""), &mut files)?;
    let mut test_modules = Vec::new();
    for (path, source) in &files {
        let ProductCode {
            test_modules: names,
            ..
        } = without_tests(&tokens(source));
        test_modules.extend(
            names
                .into_iter()
                .map(|name| folder_of_modules(path).join(name)),
        );
    }
    files.retain(|path, _| {
        !test_modules
            .iter()
            .any(|it| path.with_extension("").starts_with(it))
    });
    Ok(files)
}

fn read_folder(root: &Path, inside: &Path, files: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    let folder = root.join(inside);
    let unreadable = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(&folder).with_context(unreadable)? {
        let entry = entry.with_context(unreadable)?;
        let path = inside.join(entry.file_name());
        if entry.file_type().with_context(unreadable)?.is_dir() {
            read_folder(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(entry.path()).with_context(unreadable)?;
            files.insert(path, source);
        }
    }
    Ok(())
}

/// The folder of the files of the modules that a file declares.
fn folder_of_modules(path: &Path) -> PathBuf {
    let module = path.with_extension("");
    let is_root = ["lib", "main", "mod"]
        .iter()
        .any(|name| module.ends_with(name));
    if is_root {
        module.parent().map(Path::to_owned).unwrap_or_default()
    } else {
        module
    }
}

/// Returns the first names of all paths and imports, with their lines. A module of the file hides a
/// crate of its name.
fn crates_named<'a>(tokens: &[Token<'a>]) -> Vec<(&'a str, usize)> {
    let piece = |position: usize| tokens.get(position).map(|token| token.piece);
    let mut found = Vec::new();
    // For each open brace, whether it continues a path, as in `use a::{b, c}`.
    let mut braces = Vec::new();
    for (position, token) in tokens.iter().enumerate() {
        let before = position.checked_sub(1).and_then(piece);
        match token.piece {
            Piece::Mark('{') => braces.push(before == Some(Piece::PathSeparator)),
            Piece::Mark('}') => {
                braces.pop();
            }
            Piece::Word(name) => {
                let inside_a_path = braces.contains(&true) || continues_a_path(tokens, position);
                let begins_a_path = piece(position + 1) == Some(Piece::PathSeparator);
                let is_imported = matches!(before, Some(Piece::Word("use" | "crate")));
                let is_keyword = BEFORE_A_PATH.contains(&name);
                if !is_keyword && !inside_a_path && (begins_a_path || is_imported) {
                    found.push((name, token.line));
                }
            }
            Piece::PathSeparator | Piece::Mark(_) => {}
        }
    }
    let modules = modules_declared(tokens);
    found.retain(|(name, _)| !modules.contains(name));
    found
}

fn modules_declared<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    let pairs = tokens.windows(2).map(|pair| (pair[0].piece, pair[1].piece));
    let names = pairs.filter_map(|pair| match pair {
        (Piece::Word("mod"), Piece::Word(name)) => Some(name),
        _ => None,
    });
    names.collect()
}

/// Returns true if the `::` before this name follows another name: `a::name`, but not `(::name`.
fn continues_a_path(tokens: &[Token<'_>], position: usize) -> bool {
    let piece_before = |distance: usize| {
        position
            .checked_sub(distance)
            .and_then(|position| tokens.get(position))
            .map(|it| it.piece)
    };
    piece_before(1) == Some(Piece::PathSeparator)
        && match piece_before(2) {
            Some(Piece::Word(word)) => !BEFORE_A_PATH.contains(&word),
            Some(Piece::Mark(mark)) => matches!(mark, '>' | '$'),
            Some(Piece::PathSeparator) | None => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrows::manifests::packages;

    fn named(source: &str) -> Vec<&str> {
        crates_named(&tokens(source))
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    }

    #[test]
    fn imports_and_paths_name_crates() {
        assert_eq!(
            named("use sqlx; use ports::Clock; fn a() { domain::b() }"),
            ["sqlx", "ports", "domain"]
        );
        assert_eq!(
            named("use ::sqlx::Row; fn a(b: ::ports::Clock) {}"),
            ["sqlx", "ports"]
        );
        assert_eq!(named("extern crate sqlx;"), ["sqlx"]);
        assert_eq!(named("use {domain::A, ports::B};"), ["domain", "ports"]);
    }

    #[test]
    fn what_continues_a_path_names_no_crate() {
        assert_eq!(
            named("use crate::ports::A; use super::{ports::B, c::{sqlx::D}};"),
            ["crate", "super"]
        );
        assert_eq!(named("fn a() -> <B as C>::sqlx::D {}"), [""; 0]);
    }

    #[test]
    fn a_module_of_the_file_hides_a_crate() {
        assert_eq!(
            named("mod config; pub use config::Limits; use sqlx::Row;"),
            ["sqlx"]
        );
    }

    #[test]
    fn an_adapter_named_outside_the_wiring_is_a_fault() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src");
        fs::create_dir_all(source.join("routes")).unwrap();
        let line = "use sqlite_store::SqliteStore;";
        fs::write(source.join("wiring.rs"), line).unwrap();
        fs::write(source.join("routes/chat.rs"), format!("\n{line}")).unwrap();
        fs::write(
            source.join("lib.rs"),
            format!("#[cfg(test)] mod tests {{ {line} }}"),
        )
        .unwrap();
        let packages = packages().unwrap();
        let mut api = packages
            .iter()
            .find(|it| it.name == "agent-service")
            .unwrap()
            .clone();
        api.manifest_path = folder.path().join("Cargo.toml");
        assert_eq!(
            faults(&api, &packages).unwrap(),
            ["agent-service: src/routes/chat.rs:2 names sqlite_store"]
        );
    }

    #[test]
    fn files_for_tests_alone_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a.rs"), "#[cfg(test)] mod samples;").unwrap();
        fs::write(folder.path().join("a/samples.rs"), "").unwrap();
        fs::write(folder.path().join("samples.rs"), "").unwrap();
        let files = shipped_files(folder.path()).unwrap();
        let paths: Vec<_> = files.keys().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(paths, ["a.rs", "samples.rs"]);
    }
}
