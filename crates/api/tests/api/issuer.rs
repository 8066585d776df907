//! An external identity provider, and services that trust it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    api_server::ApiServerBuilder, caller::Caller, child_program::ChildProgram,
    response::ApiResponse,
};

/// Keys are fetched again 30 s after a failed attempt; this timeout leaves time for slow machines.
pub(crate) const UNTIL_KEYS_ARE_FETCHED_AGAIN: Duration = Duration::from_mins(1);

/// The identity provider product that is imitated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProviderKind {
    Keycloak,
    Auth0,
    Entra,
}

impl ProviderKind {
    pub(crate) const ALL: [Self; 3] = [Self::Keycloak, Self::Auth0, Self::Entra];

    const fn name(self) -> &'static str {
        match self {
            Self::Keycloak => "keycloak",
            Self::Auth0 => "auth0",
            Self::Entra => "entra",
        }
    }

    /// The settings for such a provider, beside its name and audience.
    const fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Keycloak => &[
                ("TOKEN_TYPE", "any"),
                ("SCOPE_CLAIMS", "resource_access.agent-service.roles"),
                (
                    "ROLE_SCOPES",
                    "reader=agents:read+events:read,writer=agents:write",
                ),
            ],
            Self::Auth0 => &[
                ("TOKEN_TYPE", "at+jwt"),
                ("SCOPE_CLAIMS", "permissions,scope"),
            ],
            Self::Entra => &[
                ("TOKEN_TYPE", "any"),
                ("SCOPE_CLAIMS", "scp,roles"),
                ("ROLE_SCOPES", "Agents.Read.All=agents:read+events:read"),
            ],
        }
    }
}

/// A running identity provider.
pub(crate) struct ExternalIssuer {
    /// `issuer`, `jwksUri`, `audience`, `algorithm`, `clientId`.
    pub(crate) description: Value,
    provider: ProviderKind,
    child_program: ChildProgram,
}

impl ExternalIssuer {
    pub(crate) async fn start(provider: ProviderKind) -> Self {
        let mut child_program = ChildProgram::start("foreign_issuer.mjs", &[provider.name()]);
        Self {
            description: child_program.read_json().await,
            provider,
            child_program,
        }
    }

    /// Settings of a service that trusts the provider under the id `idp` and discovers its keys.
    pub(crate) fn trusting_server(&self) -> ApiServerBuilder {
        let described = |member: &str| self.description[member].as_str().expect("a text");
        let own = [
            ("ISSUER", described("issuer")),
            ("AUDIENCES", described("audience")),
            ("ALGORITHMS", described("algorithm")),
        ];
        let settings = self.provider.settings().iter().copied();
        own.into_iter()
            .chain(settings)
            .fold(ApiServerBuilder::default(), |builder, (name, value)| {
                builder.setting(&variable(name), value)
            })
    }

    /// A token of the provider, with the claims of `order` (format: `issuer_server.mjs`).
    pub(crate) async fn issue_tokens(&mut self, order: Value) -> IssuedTokens {
        let mut order = order;
        order["command"] = json!("mint");
        IssuedTokens(self.child_program.ask(&order).await)
    }

    /// Rotates the keys; the old ones stay published if `keep` is set.
    pub(crate) async fn rotate(&mut self, keep: bool) {
        let order = json!({"command": "rotate", "keep": keep});
        self.child_program.ask(&order).await;
    }

    /// Makes the provider drop all connections.
    pub(crate) async fn disconnect(&mut self) {
        self.child_program.ask(&json!({"command": "fall"})).await;
    }

    /// Makes the provider available again.
    pub(crate) async fn reconnect(&mut self) {
        self.child_program.ask(&json!({"command": "rise"})).await;
    }

    /// The number of key fetches.
    pub(crate) async fn fetch_count(&mut self) -> u64 {
        let response = self
            .child_program
            .ask(&json!({"command": "requests"}))
            .await;
        let requests = response["requests"].as_object().expect("counts by path");
        let of_keys = requests.iter().find(|(path, _)| path.ends_with("/jwks"));
        of_keys.map_or(0, |(_, count)| count.as_u64().expect("a count"))
    }
}

/// The environment variable of a setting of this issuer.
pub(crate) fn variable(name: &str) -> String {
    format!("AUTH__ISSUERS__IDP__{name}")
}

/// The response once the service has the provider's keys: on a slow machine the first requests may
/// time out while the fetch continues.
pub(crate) async fn get_with_keys(caller: &Caller, path: &str) -> ApiResponse {
    let started = Instant::now();
    loop {
        let response = caller.get(path).await;
        if response.status != 503 || started.elapsed() > UNTIL_KEYS_ARE_FETCHED_AGAIN {
            return response;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

/// The tokens that the provider issued.
pub(crate) struct IssuedTokens(Value);

impl IssuedTokens {
    /// The access token.
    pub(crate) fn token(&self) -> &str {
        self.0["token"].as_str().expect("an access token")
    }

    /// The ID token.
    pub(crate) fn id_token(&self) -> &str {
        self.0["idToken"].as_str().expect("an ID token")
    }

    /// The time of issue of the access token, in seconds since 1970.
    pub(crate) fn issued_at(&self) -> i64 {
        self.0["claims"]["iat"].as_i64().expect("a time")
    }

    /// The principal of the access token.
    pub(crate) fn principal(&self) -> String {
        let subject = self.0["claims"]["sub"].as_str().expect("a subject");
        format!("idp~{subject}")
    }
}
