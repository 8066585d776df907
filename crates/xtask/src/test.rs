//! `cargo xtask test`: runs every test.

use std::{num::NonZero, path::PathBuf, process::Command, thread::available_parallelism};

use anyhow::Result;
use dev_tools::{
    clamd_server::ClamdProcess,
    environment::variable,
    postgres::{Database, Pooler, URL_VARIABLE},
    process::{cargo, root, run as run_program, succeeds},
    redis_server::RedisProcess,
    s3_server::S3Process,
    steps::Steps,
};

use crate::{
    clients::{Clients, FOLDER_VARIABLE},
    typescript,
};

/// Part of the name of each test that `--heavy` runs.
const HEAVY: &str = "heavy::";

/// The variable with the number of tests that nextest runs at a time.
const THREADS_VARIABLE: &str = "NEXTEST_TEST_THREADS";

/// Options of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Install a Postgres server, PgBouncer, Redis, Node.js, Python and Chromium where they are missing (Debian and Ubuntu)
    #[arg(long)]
    pub(crate) install: bool,
    /// Run only the expensive tests that are skipped otherwise, such as those with a language model
    /// server that is built from its source
    #[arg(long)]
    pub(crate) heavy: bool,
    /// Run only the TypeScript client in new projects of other toolchains, such as Next.js and Deno,
    /// which npm installs; `-- next deno` names some
    #[arg(long, conflicts_with = "heavy")]
    pub(crate) toolchains: bool,
    /// Arguments of `cargo nextest run`, or of `cargo test` if nextest is missing, such as names of
    /// tests
    #[arg(last = true)]
    pub(crate) arguments: Vec<String>,
}

/// Runs the tests; a throw-away database is removed afterwards.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut steps = Steps::default();
    if options.toolchains {
        return test_toolchains(&mut steps, &options.arguments);
    }
    let database = steps.run("database", || Database::provide(options.install))?;
    if needs_redis(&options.arguments) {
        steps.run("Redis", || RedisProcess::provide(options.install))?;
    }
    if needs_clamd(&options.arguments) {
        steps.run("clamd", || ClamdProcess::provide(options.install))?;
    }
    if options.heavy && needs_s3(&options.arguments) {
        steps.run("S3", S3Process::provide)?;
    }
    let is_the_service_tested = tests_the_service(&options.arguments);
    if is_the_service_tested {
        steps.run("PgBouncer", || Pooler::provide(options.install))?;
    }
    let clients = if needs_clients(&options.arguments) {
        Some(steps.run("client libraries", || {
            Clients::provide(options.install, options.heavy)
        })?)
    } else {
        None
    };
    let test = |mut command: Command| {
        command.env(URL_VARIABLE, database.url());
        if let Some(clients) = &clients {
            command.env(FOLDER_VARIABLE, clients.folder());
        }
        run_program(&mut command)
    };
    // Documentation tests run first, so that the output ends with the results of the whole suite.
    if options.arguments.is_empty() && !options.heavy {
        steps.run("examples in the documentation", || {
            test(cargo([
                "test",
                "--locked",
                "--quiet",
                "--doc",
                "--workspace",
            ]))
        })?;
    }
    let has_nextest = succeeds(&mut cargo(["nextest", "--version"]));
    // Tests start one of the examples, which nextest builds by itself.
    if is_the_service_tested && !has_nextest {
        steps.run("examples", || {
            run_program(&mut cargo([
                "build",
                "--locked",
                "--workspace",
                "--examples",
            ]))
        })?;
    }
    steps.run("tests", || test(suite(has_nextest, options)))?;
    if options.arguments.is_empty() && !options.heavy {
        test_typescript(&mut steps, &database)?;
    }
    Ok(())
}

/// Builds the service, and tries the TypeScript client in new projects.
fn test_toolchains(steps: &mut Steps, names: &[String]) -> Result<()> {
    steps.run("service", || {
        run_program(&mut cargo(["build", "--locked", "--package", "api"]))
    })?;
    steps.run("toolchains", || {
        typescript::test_toolchains(&built_service(), names)
    })
}

/// The service that cargo has built for tests.
fn built_service() -> PathBuf {
    let target = variable("CARGO_TARGET_DIR").unwrap_or_else(|| "target".to_owned());
    root().join(target).join("debug/agent-service")
}

/// Tests the packages in TypeScript against the service that the tests have built.
fn test_typescript(steps: &mut Steps, database: &Database) -> Result<()> {
    let service = built_service();
    steps.run("TypeScript client", || {
        typescript::test_client(&service, database)
    })?;
    steps.run("console", || typescript::test_console(&service))
}

fn suite(has_nextest: bool, options: &Options) -> Command {
    let arguments = &options.arguments;
    let mut command = if has_nextest {
        let mut command = cargo(["nextest", "run", "--locked"]);
        if variable(THREADS_VARIABLE).is_none() {
            command.env(THREADS_VARIABLE, test_threads().to_string());
        }
        command
    } else {
        cargo(["test", "--locked", "--lib", "--bins", "--tests"])
    };
    if packages_of(arguments).is_empty() {
        command.arg("--workspace");
    }
    command.args(arguments);
    if options.heavy {
        // Heavy tests are ignored, and stand in modules of this name.
        let only_heavy: &[_] = if has_nextest {
            &["--run-ignored", "only", HEAVY]
        } else {
            &[HEAVY, "--", "--ignored"]
        };
        command.args(only_heavy);
    }
    command
}

/// More tests than cores: with one per core, tests of the HTTP interface left two cores idle for 40 % of
/// the time.
fn test_threads() -> usize {
    let cores = available_parallelism().map_or(1, NonZero::get);
    cores + cores / 2
}

/// Returns true if tests of the service may run, which start an example.
fn tests_the_service(arguments: &[String]) -> bool {
    tests_one_of(&["api"], arguments)
}

/// Returns true if tests may run that use third-party programs.
fn needs_clients(arguments: &[String]) -> bool {
    tests_one_of(&["api", "mcp_tools"], arguments)
}

/// Returns true if tests may run that start a Redis server.
fn needs_redis(arguments: &[String]) -> bool {
    tests_one_of(&["api", "redis_nodes"], arguments)
}

/// Returns true if tests may run that start clamd.
fn needs_clamd(arguments: &[String]) -> bool {
    tests_one_of(&["api", "clamd_scanner"], arguments)
}

/// Returns true if tests may run that start a server with the protocol of S3.
fn needs_s3(arguments: &[String]) -> bool {
    tests_one_of(&["blob_store"], arguments)
}

fn tests_one_of(wanted: &[&str], arguments: &[String]) -> bool {
    let packages = packages_of(arguments);
    packages.is_empty() || packages.iter().any(|package| wanted.contains(package))
}

/// The packages that the arguments select.
fn packages_of(arguments: &[String]) -> Vec<&str> {
    let mut packages = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let after = |prefix| argument.strip_prefix(prefix);
        if argument == "-p" || argument == "--package" {
            packages.extend(rest.next().map(String::as_str));
        } else if let Some(package) = after("--package=").or_else(|| after("-p")) {
            packages.push(package);
        }
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn finds_the_packages_in_all_notations() {
        let arguments = words("-p domain a_test --package=ports -pcontract --package api");
        let packages = ["domain", "ports", "contract", "api"];
        assert_eq!(packages_of(&arguments), packages);
        assert!(packages_of(&words("refuses_a_duplicate_id")).is_empty());
    }

    #[test]
    fn the_service_is_tested_unless_other_packages_are_named() {
        assert!(tests_the_service(&[]));
        assert!(tests_the_service(&words("refuses_a_duplicate_id")));
        assert!(tests_the_service(&words("-p domain -p api")));
        assert!(!tests_the_service(&words("-p domain")));
        assert!(!tests_the_service(&words("-p mcp_tools")));
    }

    #[test]
    fn third_party_programs_are_needed_by_the_packages_that_use_them() {
        assert!(needs_clients(&[]));
        assert!(needs_clients(&words("-p mcp_tools")));
        assert!(needs_clients(&words("-p api")));
        assert!(!needs_clients(&words("-p domain")));
    }
}
