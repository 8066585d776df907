//! The shape of the command line. What the commands do stands elsewhere.

mod credentials;
mod signing_keys;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use domain::TenantId;

pub use self::credentials::{
    ClientsCommand, CredentialOptions, KeysCommand, NewClientOptions, NewCredentialOptions,
    RotationOptions, TenantOption,
};
pub use self::signing_keys::{SigningKeyRotationOptions, SigningKeysCommand};

/// A self-hosted service with which frontend teams create AI agents and chat with them.
///
/// Settings come from defaults, then the file given with --config, then environment variables;
/// .env.example lists them all. Without a command it serves.
#[derive(Debug, Clone, Parser)]
#[command(name = "agent-service", version, max_term_width = 100)]
pub struct CommandLine {
    /// TOML file with settings; the environment overrides it
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// What to do; nothing is to serve.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl CommandLine {
    /// The command that was given; without one it is to serve.
    pub fn command_or_serve(self) -> Command {
        self.command
            .unwrap_or_else(|| Command::Serve(ServeOptions::default()))
    }
}

/// What the program is to do.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Serve the HTTP interface until a signal ends it (the default)
    Serve(ServeOptions),
    /// Bring the store's schema up to this version, then end
    Migrate,
    /// Make, list, rotate and revoke API keys, on the store itself: no running server is needed
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Make, list, rotate and revoke OAuth clients, on the store itself
    #[command(subcommand)]
    Clients(ClientsCommand),
    /// List and rotate the keys that sign access tokens, on the store itself
    #[command(subcommand)]
    SigningKeys(SigningKeysCommand),
    /// Make and list tenants, on the store itself: no running server is needed
    #[command(subcommand)]
    Tenants(TenantsCommand),
    /// Look at the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print the OpenAPI document on stdout
    Openapi,
    /// Print the AsyncAPI document, on sockets and streams, on stdout
    Asyncapi,
    /// Ask a running service whether it is ready: exit code 0 if it is
    Healthcheck(HealthcheckOptions),
}

/// How to serve.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct ServeOptions {
    /// Do not touch the schema: refuse to start when a migration is pending
    ///
    /// For rollouts that run `agent-service migrate` as a step of its own.
    #[arg(long)]
    pub no_migrate: bool,
}

/// What to do with tenants.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum TenantsCommand {
    /// Make a tenant
    Create {
        /// Its id: 1 to 64 of a-z, 0-9 and '-'
        id: TenantId,
    },
    /// List all tenants
    List,
}

/// What to do with the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ConfigCommand {
    /// Read the configuration as `serve` would, and tell everything that is wrong with it
    Check,
}

/// Whom to ask.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct HealthcheckOptions {
    /// The service's base URL, without a slash at the end [default: the configured host and port]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, error::ErrorKind};

    use super::*;

    pub(super) fn parsed(arguments: &str) -> Result<CommandLine, clap::Error> {
        CommandLine::try_parse_from(format!("agent-service {arguments}").split_whitespace())
    }

    pub(super) fn command(arguments: &str) -> Command {
        parsed(arguments).unwrap().command_or_serve()
    }

    pub(super) fn refusal(arguments: &str) -> (ErrorKind, String) {
        let error = parsed(arguments).unwrap_err();
        (error.kind(), error.to_string())
    }

    #[test]
    fn the_definitions_fit_together() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn without_a_command_it_serves() {
        assert_eq!(command(""), command("serve"));
        assert_eq!(
            command(""),
            Command::Serve(ServeOptions { no_migrate: false })
        );
        assert_eq!(
            command("serve --no-migrate"),
            Command::Serve(ServeOptions { no_migrate: true })
        );
    }

    #[test]
    fn the_file_may_stand_before_or_behind_the_command() {
        for arguments in [
            "--config a.toml",
            "--config a.toml migrate",
            "keys list --config a.toml",
        ] {
            let given = parsed(arguments).unwrap().config;
            assert_eq!(given, Some(PathBuf::from("a.toml")), "{arguments}");
        }
    }

    #[test]
    fn every_command_of_the_documentation_is_understood() {
        for arguments in [
            "migrate",
            "keys list",
            "keys list --tenant acme",
            "keys generate",
            "clients list --tenant acme",
            "signing-keys list",
            "signing-keys rotate",
            "tenants create acme",
            "tenants list",
            "config check",
            "openapi",
            "asyncapi",
            "healthcheck",
            "healthcheck --url http://127.0.0.1:8080",
        ] {
            parsed(arguments).unwrap_or_else(|error| panic!("{arguments}: {error}"));
        }
    }
}
