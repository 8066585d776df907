//! The shape of the command line. What the commands do stands elsewhere.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, builder::NonEmptyStringValueParser};
use domain::{CredentialId, Scope, TenantId, Timestamp, timestamp::MalformedTimestamp};

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
    /// Make, list and revoke API keys, on the store itself: no running server is needed
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Make and list tenants, on the store itself: no running server is needed
    #[command(subcommand)]
    Tenants(TenantsCommand),
    /// Look at the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print the OpenAPI document on stdout
    Openapi,
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

/// What to do with keys.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum KeysCommand {
    /// Make a key and print it, and nothing else, on stdout: it is never shown again
    Create(NewKeyOptions),
    /// List a tenant's keys, newest first, without their secrets
    List(TenantOption),
    /// Refuse a key from now on; every running server follows within a second
    Revoke {
        /// The key's id: the 12 characters between agk_ and the next underscore
        id: CredentialId,
        /// Whose key it is
        #[command(flatten)]
        tenant: TenantOption,
    },
    /// Print a new key that no store knows yet, to be set as `AUTH__BOOTSTRAP_KEY`
    Generate,
}

/// A key to be made.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct NewKeyOptions {
    /// Whose data the key opens
    #[command(flatten)]
    pub tenant: TenantOption,
    /// What people call the key
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub name: String,
    /// What the key may do, comma-separated
    ///
    /// agents:read, agents:write, chat:write, conversations:read, conversations:write,
    /// conversations:all, events:read, metrics:read, keys:admin
    #[arg(long, value_name = "SCOPE,…", value_delimiter = ',', required = true)]
    pub scopes: Vec<Scope>,
    /// From when on the key is refused, such as 2027-01-31T00:00:00Z [default: never]
    #[arg(long, value_name = "RFC3339", value_parser = timestamp)]
    pub expires_at: Option<Timestamp>,
}

/// Which tenant.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct TenantOption {
    /// The tenant
    #[arg(long, default_value = TenantId::DEFAULT)]
    pub tenant: TenantId,
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

fn timestamp(text: &str) -> Result<Timestamp, MalformedTimestamp> {
    Timestamp::parse(text)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, error::ErrorKind};

    use super::*;

    fn parsed(arguments: &str) -> Result<CommandLine, clap::Error> {
        CommandLine::try_parse_from(format!("agent-service {arguments}").split_whitespace())
    }

    fn command(arguments: &str) -> Command {
        parsed(arguments).unwrap().command_or_serve()
    }

    fn refusal(arguments: &str) -> (ErrorKind, String) {
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
    fn a_new_key_gets_tenant_name_scopes_and_an_end() {
        let given = command(
            "keys create --name ci --scopes agents:read,chat:write --expires-at 2027-01-31T00:00:00Z",
        );
        let expected = NewKeyOptions {
            tenant: TenantOption {
                tenant: "default".parse().unwrap(),
            },
            name: "ci".to_owned(),
            scopes: vec![Scope::AgentsRead, Scope::ChatWrite],
            expires_at: Timestamp::parse("2027-01-31T00:00:00Z").ok(),
        };
        assert_eq!(given, Command::Keys(KeysCommand::Create(expected)));
    }

    #[test]
    fn a_new_key_needs_a_name_and_known_scopes() {
        let (kind, _) = refusal("keys create --scopes agents:read");
        assert_eq!(kind, ErrorKind::MissingRequiredArgument);
        let (kind, _) = refusal("keys create --name ci");
        assert_eq!(kind, ErrorKind::MissingRequiredArgument);
        let (kind, told) = refusal("keys create --name ci --scopes agents:read,agents:own");
        assert_eq!(kind, ErrorKind::ValueValidation);
        assert!(told.contains("agents:own"), "{told}");
    }

    #[test]
    fn keys_are_revoked_by_id_in_a_tenant() {
        let revoke = KeysCommand::Revoke {
            id: "0123456789ab".parse().unwrap(),
            tenant: TenantOption {
                tenant: "acme".parse().unwrap(),
            },
        };
        assert_eq!(
            command("keys revoke 0123456789ab --tenant acme"),
            Command::Keys(revoke)
        );
        let (kind, _) = refusal("keys revoke agk_0123456789ab");
        assert_eq!(kind, ErrorKind::ValueValidation);
    }

    #[test]
    fn the_help_of_a_new_key_names_every_scope() {
        let help = parsed("keys create --help").unwrap_err().to_string();
        for scope in Scope::ALL {
            assert!(
                help.contains(scope.as_str()),
                "{scope} is missing in\n{help}"
            );
        }
    }

    #[test]
    fn every_command_of_the_documentation_is_understood() {
        for arguments in [
            "migrate",
            "keys list",
            "keys list --tenant acme",
            "keys generate",
            "tenants create acme",
            "tenants list",
            "config check",
            "openapi",
            "healthcheck",
            "healthcheck --url http://127.0.0.1:8080",
        ] {
            parsed(arguments).unwrap_or_else(|error| panic!("{arguments}: {error}"));
        }
    }
}
