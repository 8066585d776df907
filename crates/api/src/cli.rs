//! The arguments of the command line.

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
/// Settings are read from defaults, then the file given with --config, then environment variables;
/// .env.example lists all of them. Without a command the service serves.
#[derive(Debug, Clone, Parser)]
#[command(name = "agent-service", version, max_term_width = 100)]
pub struct CommandLine {
    /// TOML file with settings; the environment overrides it
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// The command; without one the service serves.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl CommandLine {
    /// Returns the command; `serve` by default.
    pub fn command_or_serve(self) -> Command {
        self.command
            .unwrap_or_else(|| Command::Serve(ServeOptions::default()))
    }
}

/// The subcommands.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Serve the HTTP interface until a signal ends it (the default)
    Serve(ServeOptions),
    /// Migrate the store's schema to this version, then exit
    Migrate,
    /// Create, list, rotate and revoke API keys, directly in the store: no running server is needed
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Create, list, rotate and revoke OAuth clients, directly in the store
    #[command(subcommand)]
    Clients(ClientsCommand),
    /// List and rotate the keys that sign access tokens, directly in the store
    #[command(subcommand)]
    SigningKeys(SigningKeysCommand),
    /// Create and list tenants, directly in the store: no running server is needed
    #[command(subcommand)]
    Tenants(TenantsCommand),
    /// Check the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print the OpenAPI document on stdout
    Openapi,
    /// Print the AsyncAPI document, about sockets and streams, on stdout
    Asyncapi,
    /// Check if a running service is ready: exit code 0 if it is
    Healthcheck(HealthcheckOptions),
}

/// The options of `serve`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct ServeOptions {
    /// Do not migrate the schema: refuse to start if a migration is pending
    ///
    /// For rollouts that run `agent-service migrate` as a separate step.
    #[arg(long)]
    pub no_migrate: bool,
}

/// The commands on tenants.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum TenantsCommand {
    /// Create a tenant
    Create {
        /// Its id: 1 to 64 of a-z, 0-9 and '-'
        id: TenantId,
    },
    /// List all tenants
    List,
}

/// The commands on the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ConfigCommand {
    /// Read the configuration like `serve`, and report all its errors
    Check,
}

/// The options of `healthcheck`.
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

    pub(super) fn parse_error(arguments: &str) -> (ErrorKind, String) {
        let error = parsed(arguments).unwrap_err();
        (error.kind(), error.to_string())
    }

    #[test]
    fn the_definitions_are_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn serve_is_the_default_command() {
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
    fn the_file_may_be_before_or_after_the_command() {
        for arguments in [
            "--config a.toml",
            "--config a.toml migrate",
            "keys list --config a.toml",
        ] {
            let config = parsed(arguments).unwrap().config;
            assert_eq!(config, Some(PathBuf::from("a.toml")), "{arguments}");
        }
    }

    #[test]
    fn every_documented_command_is_parsed() {
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
