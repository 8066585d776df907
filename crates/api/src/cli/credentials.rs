//! The arguments of the commands on keys and clients.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser, value_parser};
use domain::{
    AgentId, CredentialId, LimitOverrides, Scope, TenantId, Timestamp, UnknownMembers,
    credential::MAX_OVERLAP_SECONDS, timestamp::MalformedTimestamp,
};

/// The commands on keys.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum KeysCommand {
    /// Create a key and print it, and nothing else, on stdout: it is never shown again
    Create(NewCredentialOptions),
    /// List a tenant's keys, newest first, without their secrets
    List(TenantOption),
    /// Rotate the secret of a key and print only the new key; it keeps its id and its scopes
    Rotate(RotationOptions),
    /// Revoke a key; every running server rejects it within a second
    Revoke(CredentialOptions),
    /// Print a new key that is in no store, to be set as `AUTH__BOOTSTRAP_KEY`
    Generate,
}

/// The commands on OAuth clients.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ClientsCommand {
    /// Create a client and print its id and its secret, and nothing else, on one line of stdout
    Create(NewClientOptions),
    /// List a tenant's clients, newest first, without their secrets
    List(TenantOption),
    /// Rotate the secret of a client and print its id and the new secret; it keeps its scopes
    Rotate(RotationOptions),
    /// Revoke a client and its tokens; every running server rejects them within a second
    Revoke(CredentialOptions),
}

/// The options of a new key or client.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct NewCredentialOptions {
    /// The tenant whose data it can access
    #[command(flatten)]
    pub tenant: TenantOption,
    /// A name for people
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub name: String,
    /// Its scopes, comma-separated
    ///
    /// agents:read, agents:write, chat:write, conversations:read, conversations:write,
    /// conversations:all, tools:approve, events:read, metrics:read, users:admin, keys:admin, user-tokens:issue
    #[arg(long, value_name = "SCOPE,…", value_delimiter = ',', required = true)]
    pub scopes: Vec<Scope>,
    /// The time at which it expires, such as 2027-01-31T00:00:00Z [default: never]
    #[arg(long, value_name = "RFC3339", value_parser = timestamp)]
    pub expires_at: Option<Timestamp>,
    /// The ids of the only agents that it can reach, comma-separated, at most 50 [default: all]
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    pub agent_ids: Vec<AgentId>,
    /// Its rate limits
    #[command(flatten)]
    pub limits: LimitOptions,
}

/// The rate limits of a new key or client; by default those of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct LimitOptions {
    /// Requests per minute [default: that of the server]
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub requests_per_minute: Option<u32>,
    /// Requests at once [default: that of the server]
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub requests_burst: Option<u32>,
    /// Chats per minute [default: that of the server]
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub chat_per_minute: Option<u32>,
    /// Chats at once [default: that of the server]
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub chat_burst: Option<u32>,
    /// Open streams and sockets at once [default: that of the server]
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u32).range(0..=1_000_000))]
    pub streams: Option<u32>,
    /// Uploaded files on a day of UTC [default: unlimited]
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u32).range(0..=1_000_000))]
    pub files_per_day: Option<u32>,
    /// Bytes of uploaded files on a day of UTC [default: unlimited]
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u64).range(0..=1_000_000_000_000))]
    pub file_bytes_per_day: Option<u64>,
}

impl From<LimitOptions> for LimitOverrides {
    fn from(options: LimitOptions) -> Self {
        Self {
            requests_per_minute: options.requests_per_minute,
            requests_burst: options.requests_burst,
            chat_per_minute: options.chat_per_minute,
            chat_burst: options.chat_burst,
            streams: options.streams,
            files_per_day: options.files_per_day,
            file_bytes_per_day: options.file_bytes_per_day,
            unknown: UnknownMembers::default(),
        }
    }
}

/// The options of a new client.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct NewClientOptions {
    /// The options that keys have too
    #[command(flatten)]
    pub credential: NewCredentialOptions,
    /// The address at which it publishes its public keys: it signs with these and gets no secret
    #[arg(long, value_name = "URL")]
    pub jwks_uri: Option<String>,
}

/// A key or client, and the overlap of its previous secret.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct RotationOptions {
    /// The key or client
    #[command(flatten)]
    pub credential: CredentialOptions,
    /// The time for which the previous secret stays valid beside the new one
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 0,
        value_parser = value_parser!(u32).range(..=i64::from(MAX_OVERLAP_SECONDS))
    )]
    pub overlap_seconds: u32,
}

/// A key or client.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct CredentialOptions {
    /// Its id: the 12 characters between the first and the second underscore of its secret
    pub id: CredentialId,
    /// The tenant that it belongs to
    #[command(flatten)]
    pub tenant: TenantOption,
}

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct TenantOption {
    /// The tenant
    #[arg(long, default_value = TenantId::DEFAULT)]
    pub tenant: TenantId,
}

fn timestamp(text: &str) -> Result<Timestamp, MalformedTimestamp> {
    Timestamp::parse(text)
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;
    use crate::cli::{
        Command,
        tests::{command, parse_error, parsed},
    };

    fn of_tenant(id: &str, tenant: &str) -> CredentialOptions {
        CredentialOptions {
            id: id.parse().unwrap(),
            tenant: TenantOption {
                tenant: tenant.parse().unwrap(),
            },
        }
    }

    #[test]
    fn a_new_key_has_tenant_name_scopes_expiry_agents_and_limits() {
        let agent = "00000000-0000-0000-0000-000000000001";
        let options = format!(
            "--name ci --scopes agents:read,chat:write --expires-at 2027-01-31T00:00:00Z \
             --agent-ids {agent} --chat-per-minute 5 --streams 0"
        );
        let given = command(&format!("keys create {options}"));
        let expected = NewCredentialOptions {
            tenant: TenantOption {
                tenant: "default".parse().unwrap(),
            },
            name: "ci".to_owned(),
            scopes: vec![Scope::AgentsRead, Scope::ChatWrite],
            expires_at: Timestamp::parse("2027-01-31T00:00:00Z").ok(),
            agent_ids: vec![agent.parse().unwrap()],
            limits: LimitOptions {
                chat_per_minute: Some(5),
                streams: Some(0),
                ..LimitOptions::default()
            },
        };
        let client = NewClientOptions {
            credential: expected.clone(),
            jwks_uri: Some("https://client.example".to_owned()),
        };
        assert_eq!(given, Command::Keys(KeysCommand::Create(expected)));
        let create = format!("clients create {options} --jwks-uri https://client.example");
        let given = command(&create);
        assert_eq!(given, Command::Clients(ClientsCommand::Create(client)));
    }

    #[test]
    fn a_new_key_or_client_needs_a_name_and_known_scopes() {
        for noun in ["keys", "clients"] {
            let (kind, _) = parse_error(&format!("{noun} create --scopes agents:read"));
            assert_eq!(kind, ErrorKind::MissingRequiredArgument);
            let (kind, _) = parse_error(&format!("{noun} create --name ci"));
            assert_eq!(kind, ErrorKind::MissingRequiredArgument);
            let create = format!("{noun} create --name ci --scopes agents:read,agents:own");
            let (kind, message) = parse_error(&create);
            assert_eq!(kind, ErrorKind::ValueValidation);
            assert!(message.contains("agents:own"), "{message}");
        }
    }

    #[test]
    fn keys_and_clients_are_revoked_by_id_in_a_tenant() {
        let revoked = of_tenant("0123456789ab", "acme");
        assert_eq!(
            command("keys revoke 0123456789ab --tenant acme"),
            Command::Keys(KeysCommand::Revoke(revoked.clone()))
        );
        assert_eq!(
            command("clients revoke 0123456789ab --tenant acme"),
            Command::Clients(ClientsCommand::Revoke(revoked))
        );
        let (kind, _) = parse_error("keys revoke agk_0123456789ab");
        assert_eq!(kind, ErrorKind::ValueValidation);
    }

    #[test]
    fn a_rotation_overlaps_for_at_most_a_week_and_by_default_not_at_all() {
        let rotation = |overlap_seconds| RotationOptions {
            credential: of_tenant("0123456789ab", "default"),
            overlap_seconds,
        };
        assert_eq!(
            command("keys rotate 0123456789ab"),
            Command::Keys(KeysCommand::Rotate(rotation(0)))
        );
        assert_eq!(
            command("clients rotate 0123456789ab --overlap-seconds 604800"),
            Command::Clients(ClientsCommand::Rotate(rotation(604_800)))
        );
        let (kind, _) = parse_error("keys rotate 0123456789ab --overlap-seconds 604801");
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
}
