//! An identity provider of somebody else's, and services that trust it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{answer::Answer, caller::Caller, harness::Plan, partner::Partner};

/// After an attempt to fetch keys the next is made after 30 s; with this a slow machine has time.
pub(crate) const UNTIL_KEYS_ARE_FETCHED_AGAIN: Duration = Duration::from_mins(1);

/// Which product it imitates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Imitation {
    Keycloak,
    Auth0,
    Entra,
}

impl Imitation {
    pub(crate) const ALL: [Self; 3] = [Self::Keycloak, Self::Auth0, Self::Entra];

    const fn name(self) -> &'static str {
        match self {
            Self::Keycloak => "keycloak",
            Self::Auth0 => "auth0",
            Self::Entra => "entra",
        }
    }

    /// What an operator configures for such a provider, beside its name and audience.
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

/// An identity provider that is up.
pub(crate) struct ForeignIssuer {
    /// `issuer`, `jwksUri`, `audience`, `algorithm`, `clientId`.
    pub(crate) description: Value,
    imitation: Imitation,
    partner: Partner,
}

impl ForeignIssuer {
    pub(crate) async fn start(imitation: Imitation) -> Self {
        let mut partner = Partner::start("foreign_issuer.mjs", &[imitation.name()]);
        Self {
            description: partner.says().await,
            imitation,
            partner,
        }
    }

    /// A plan for a service that trusts it, by the id `idp`, and finds its keys by itself.
    pub(crate) fn trusted(&self) -> Plan {
        let described = |member: &str| self.description[member].as_str().expect("a text");
        let own = [
            ("ISSUER", described("issuer")),
            ("AUDIENCES", described("audience")),
            ("ALGORITHMS", described("algorithm")),
        ];
        let settings = self.imitation.settings().iter().copied();
        own.into_iter()
            .chain(settings)
            .fold(Plan::default(), |plan, (name, value)| {
                plan.setting(&variable(name), value)
            })
    }

    /// A token as the provider signs it: `order` says for whom and with what in it, as
    /// `issuer_server.mjs` tells.
    pub(crate) async fn mint(&mut self, order: Value) -> Minted {
        let mut order = order;
        order["command"] = json!("mint");
        Minted(self.partner.ask(&order).await)
    }

    /// It signs with new keys from now on, and publishes the old ones too if they are kept.
    pub(crate) async fn rotate(&mut self, keep: bool) {
        let order = json!({"command": "rotate", "keep": keep});
        self.partner.ask(&order).await;
    }

    /// It hangs up on everybody.
    pub(crate) async fn fall(&mut self) {
        self.partner.ask(&json!({"command": "fall"})).await;
    }

    /// It answers again.
    pub(crate) async fn rise(&mut self) {
        self.partner.ask(&json!({"command": "rise"})).await;
    }

    /// How often its keys were fetched.
    pub(crate) async fn fetches(&mut self) -> u64 {
        let answer = self.partner.ask(&json!({"command": "requests"})).await;
        let requests = answer["requests"].as_object().expect("counts by path");
        let of_keys = requests.iter().find(|(path, _)| path.ends_with("/jwks"));
        of_keys.map_or(0, |(_, count)| count.as_u64().expect("a count"))
    }
}

/// The variable of a setting of this issuer.
pub(crate) fn variable(name: &str) -> String {
    format!("AUTH__ISSUERS__IDP__{name}")
}

/// What is answered once the service has the keys of the caller's provider: on a slow machine it
/// waits for them for too short a time at first, but goes on to fetch them.
pub(crate) async fn get_with_keys(caller: &Caller, path: &str) -> Answer {
    let started = Instant::now();
    loop {
        let answer = caller.get(path).await;
        if answer.status != 503 || started.elapsed() > UNTIL_KEYS_ARE_FETCHED_AGAIN {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

/// What the provider issued.
pub(crate) struct Minted(Value);

impl Minted {
    /// The access token.
    pub(crate) fn token(&self) -> &str {
        self.0["token"].as_str().expect("an access token")
    }

    /// The ID token that came with it.
    pub(crate) fn id_token(&self) -> &str {
        self.0["idToken"].as_str().expect("an ID token")
    }

    /// When the access token was issued: seconds since 1970.
    pub(crate) fn issued_at(&self) -> i64 {
        self.0["claims"]["iat"].as_i64().expect("a time")
    }

    /// The principal that the access token stands for.
    pub(crate) fn principal(&self) -> String {
        let subject = self.0["claims"]["sub"].as_str().expect("a subject");
        format!("idp~{subject}")
    }
}
