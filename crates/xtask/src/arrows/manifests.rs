//! The dependencies that manifests declare.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use dev_tools::process::{cargo, output};
use serde::Deserialize;

use super::table::{allows, layer};

/// A crate of the workspace.
#[derive(Clone, Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Clone, Deserialize)]
struct Dependency {
    name: String,
    /// Absent for a normal dependency, otherwise `dev` or `build`.
    kind: Option<String>,
}

#[derive(Clone, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

impl Package {
    /// The name of the crate in source code.
    pub(super) fn name_in_code(&self) -> String {
        let library = self
            .targets
            .iter()
            .find(|target| target.kind.iter().any(|k| k == "lib"));
        library
            .map_or(&self.name, |target| &target.name)
            .replace('-', "_")
    }
}

/// The crates of this workspace.
pub(super) fn packages() -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let printed = output(&mut cargo(["metadata", "--no-deps", "--format-version=1"]))?;
    let metadata: Metadata =
        serde_json::from_str(&printed).context("cannot read what `cargo metadata` printed")?;
    Ok(metadata.packages)
}

/// Dependencies of a manifest that the table forbids; those of tests are free.
pub(super) fn faults(package: &Package) -> Vec<String> {
    let Some(layer) = layer(&package.name) else {
        return vec![format!(
            "{}: not in the table of crates/xtask/src/arrows/table.rs",
            package.name
        )];
    };
    let declared = package
        .dependencies
        .iter()
        .filter(|it| it.kind.as_deref() != Some("dev"));
    declared
        .filter(|dependency| !allows(layer, &dependency.name, true))
        .map(|dependency| {
            format!(
                "{}: Cargo.toml depends on {}",
                package.name, dependency.name
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependencies = dependencies.iter().map(|(name, kind)| Dependency {
            name: (*name).to_owned(),
            kind: kind.map(str::to_owned),
        });
        Package {
            name: name.to_owned(),
            manifest_path: PathBuf::new(),
            dependencies: dependencies.collect(),
            targets: vec![],
        }
    }

    #[test]
    fn a_forbidden_dependency_is_named() {
        let package = package("application", &[("ports", None), ("sqlite_store", None)]);
        assert_eq!(
            faults(&package),
            ["application: Cargo.toml depends on sqlite_store"]
        );
    }

    #[test]
    fn a_dependency_of_the_build_script_counts() {
        let package = package("domain", &[("sqlx", Some("build"))]);
        assert_eq!(faults(&package), ["domain: Cargo.toml depends on sqlx"]);
    }

    #[test]
    fn dependencies_of_tests_are_free() {
        assert!(faults(&package("application", &[("sqlite_store", Some("dev"))])).is_empty());
    }

    #[test]
    fn a_crate_that_the_table_does_not_know_is_a_fault() {
        assert_eq!(faults(&package("newcomer", &[])).len(), 1);
    }
}
