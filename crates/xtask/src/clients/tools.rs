//! The tools that run the programs and fetch their libraries.

use std::process::Command;

use anyhow::{Result, bail};
use dev_tools::{install::debian_packages, process::output};

const OLDEST_NODE: u32 = 20;

/// Prints Python's version if it is new enough and can make virtual environments.
const PYTHON_CHECK: &str = "import ensurepip, sys, venv
assert sys.version_info >= (3, 11)
print(sys.version)";

/// The names of Chromium in the search path.
const CHROMIUM_NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

const REQUIREMENTS: &str = "\
the tests use third-party client libraries, which need Node.js 20 or newer with npm, Python 3.11 or
newer with venv, and Chromium in the search path. Do one of these:
  - install them; the tests fetch the libraries themselves
      Debian 13, Ubuntu:  apt-get install nodejs npm python3-venv chromium    (or: cargo xtask test --install)
      Debian 12:          apt-get install python3-venv chromium; Node.js from https://nodejs.org
      Fedora:             dnf install nodejs-npm python3 chromium
      macOS:              brew install node python; Chrome with `google-chrome` in the search path
  - test a package without these requirements: cargo xtask test -- -p domain";

const NODE_REQUIREMENTS: &str = "\
the checks of TypeScript need Node.js 20 or newer with npm. Install them:
      Debian 13, Ubuntu:  apt-get install nodejs npm    (or: cargo xtask check --install)
      Fedora:             dnf install nodejs-npm
      others:             https://nodejs.org";

/// A tool.
struct Tool {
    name: &'static str,
    package: &'static str,
    /// Returns the version of the tool, for which libraries are fetched, if it is installed and new
    /// enough.
    version: fn() -> Option<String>,
}

const NODE: Tool = Tool {
    name: "Node.js",
    package: "nodejs",
    version: node,
};

const NPM: Tool = Tool {
    name: "npm",
    package: "npm",
    version: || output_of("npm", &["--version"]),
};

const TOOLS: [Tool; 4] = [
    NODE,
    NPM,
    Tool {
        name: "Python with venv",
        package: "python3-venv",
        version: || output_of("python3", &["-c", PYTHON_CHECK]),
    },
    Tool {
        name: "Chromium",
        package: "chromium",
        version: chromium,
    },
];

/// Finds the tools, after installing missing ones if that is allowed, and returns their versions:
/// libraries belong to one version.
pub(super) fn provide(install: bool) -> Result<String> {
    provide_all(&TOOLS, install, REQUIREMENTS)?;
    Ok(TOOLS.iter().filter_map(|tool| (tool.version)()).collect())
}

/// Finds Node.js and npm, after installing missing ones if that is allowed.
pub(crate) fn provide_node(install: bool) -> Result<()> {
    provide_all(&[NODE, NPM], install, NODE_REQUIREMENTS)
}

fn provide_all(tools: &[Tool], install: bool, requirements: &str) -> Result<()> {
    let missing = missing_of(tools);
    if install && !missing.is_empty() {
        let packages: Vec<_> = missing.iter().map(|tool| tool.package).collect();
        debian_packages(&packages, requirements)?;
    }
    let missing: Vec<_> = missing_of(tools).iter().map(|tool| tool.name).collect();
    if !missing.is_empty() {
        bail!("missing or too old: {}\n{requirements}", missing.join(", "));
    }
    Ok(())
}

fn missing_of(tools: &[Tool]) -> Vec<&Tool> {
    let missing = |tool: &&Tool| (tool.version)().is_none();
    tools.iter().filter(missing).collect()
}

fn node() -> Option<String> {
    output_of("node", &["--version"]).filter(|version| major_of(version) >= Some(OLDEST_NODE))
}

/// Finds Chromium as `browser.mjs` does. All its versions use the same libraries.
fn chromium() -> Option<String> {
    let version = |name: &&str| output_of(name, &["--version"]);
    CHROMIUM_NAMES
        .iter()
        .find_map(version)
        .map(|_| String::new())
}

/// Parses the 20 in `v20.20.2`.
fn major_of(version: &str) -> Option<u32> {
    let (major, _) = version.strip_prefix('v')?.split_once('.')?;
    major.parse().ok()
}

fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    output(Command::new(program).args(arguments)).ok()
}

#[cfg(test)]
mod tests {
    use dev_tools::{
        postgres::{self, Pooler},
        redis_server::RedisProcess,
    };

    use super::*;

    #[test]
    fn the_documentation_lists_every_package_that_is_installed() {
        let contributing = include_str!("../../../../CONTRIBUTING.md");
        let tools = TOOLS.iter().map(|tool| tool.package);
        let servers = [postgres::PACKAGE, Pooler::PACKAGE, RedisProcess::PACKAGE];
        for package in tools.chain(servers) {
            let row = format!("| `{package}` | ");
            assert!(contributing.contains(&row), "CONTRIBUTING.md lacks {row}");
        }
    }

    #[test]
    fn reads_the_major_version() {
        assert_eq!(major_of("v20.20.2\n"), Some(20));
        assert_eq!(major_of("20.20.2"), None);
        assert!(major_of("v8.1.0") < Some(OLDEST_NODE));
        assert!(major_of("") < Some(OLDEST_NODE));
    }
}
