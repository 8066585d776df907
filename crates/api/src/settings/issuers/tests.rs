//! Issuers as an operator configures them.

use super::*;
use crate::settings::{InvalidSetting, Settings, SettingsError};

const NAME: &str = "https://id.example.org/realms/main";

/// Settings of an issuer `MAIN` that is as short as can be, with these beside or in place of its
/// own. A name that begins with `AUTH__` or `SERVER__` is taken as it is.
fn load(changes: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let minimum = [("ISSUER", NAME), ("AUDIENCES", "agents")];
    let variables = minimum.iter().chain(changes).map(|(name, value)| {
        let is_whole = name.starts_with("AUTH__") || name.starts_with("SERVER__");
        let prefix = if is_whole {
            ""
        } else {
            "AUTH__ISSUERS__MAIN__"
        };
        (format!("{prefix}{name}"), (*value).to_owned())
    });
    // Of two values the later counts.
    let variables: BTreeMap<String, String> = variables.collect();
    Settings::load(None, variables)
}

#[track_caller]
fn main_issuer(changes: &[(&str, &str)]) -> IssuerConfig {
    let mut issuers = load(changes).expect("good settings").auth.issuers;
    assert_eq!(issuers.len(), 1);
    issuers.remove(0)
}

/// The variables that were rejected, and why.
#[track_caller]
fn rejected(outcome: Result<Settings, SettingsError>) -> Vec<(String, String)> {
    let Err(SettingsError::Invalid(invalid)) = outcome else {
        panic!("expected refused settings, found {outcome:?}");
    };
    let parts = invalid.into_iter().map(|setting| match setting {
        InvalidSetting::BadValue {
            variable, expected, ..
        } => (variable, expected),
        InvalidSetting::NameInUse { variable, name, .. } => (variable, name),
        InvalidSetting::Unknown { name, .. } => (name, "unknown".to_owned()),
    });
    parts.collect()
}

fn paths(texts: &[&str]) -> Vec<ClaimPath> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn an_issuer_needs_only_a_name_and_an_audience() {
    let expected = IssuerConfig {
        id: "main".parse().unwrap(),
        name: NAME.to_owned(),
        audiences: vec!["agents".to_owned()],
        audience_claim: None,
        keys: KeyLocation::MetadataOf(NAME.to_owned()),
        algorithms: SignatureAlgorithm::ALL.to_vec(),
        token_type: TokenType::AccessToken,
        tenant: TenantSource::Fixed("default".parse().unwrap()),
        scope_claims: paths(&["scope", "scp"]),
        role_scopes: BTreeMap::new(),
        agents: AgentReach::ALL,
    };
    assert_eq!(main_issuer(&[]), expected);
}

#[test]
fn everything_about_an_issuer_can_be_configured() {
    let found = main_issuer(&[
        ("AUDIENCES", "https://agents.example.org, account"),
        ("AUDIENCE_CLAIM", "client_id"),
        ("JWKS_URL", "https://id.example.org/keys?v=1"),
        ("ALGORITHMS", "RS256,EdDSA"),
        ("TOKEN_TYPE", "any"),
        ("TENANT", "acme"),
        (
            "SCOPE_CLAIMS",
            "scp,realm_access.roles,https://example.org/roles",
        ),
        (
            "ROLE_SCOPES",
            "admin=agents:read+agents:write, ou=users=chat:write",
        ),
        (
            "AGENT_IDS",
            "00000000-0000-0000-0000-000000000001, 00000000-0000-0000-0000-000000000002",
        ),
    ]);
    let scopes = |scopes: &[Scope]| scopes.iter().copied().collect::<Scopes>();
    let expected = IssuerConfig {
        id: "main".parse().unwrap(),
        name: NAME.to_owned(),
        audiences: vec![
            "https://agents.example.org".to_owned(),
            "account".to_owned(),
        ],
        audience_claim: Some("client_id".parse().unwrap()),
        keys: KeyLocation::Url("https://id.example.org/keys?v=1".to_owned()),
        algorithms: vec![SignatureAlgorithm::Rs256, SignatureAlgorithm::EdDsa],
        token_type: TokenType::Any,
        tenant: TenantSource::Fixed("acme".parse().unwrap()),
        scope_claims: paths(&["scp", "realm_access.roles", "https://example.org/roles"]),
        role_scopes: BTreeMap::from([
            (
                "admin".to_owned(),
                scopes(&[Scope::AgentsRead, Scope::AgentsWrite]),
            ),
            ("ou=users".to_owned(), scopes(&[Scope::ChatWrite])),
        ]),
        agents: AgentReach::only([1, 2].map(|number| {
            let id = format!("00000000-0000-0000-0000-00000000000{number}");
            id.parse().unwrap()
        })),
    };
    assert_eq!(found, expected);
}

#[test]
fn users_may_be_in_the_tenant_that_a_claim_names() {
    let found = main_issuer(&[("TENANT_CLAIM", "organisation.id")]).tenant;
    assert_eq!(
        found,
        TenantSource::Claim("organisation.id".parse().unwrap())
    );
}

#[test]
fn there_may_be_any_number_of_issuers_under_ids_in_any_case() {
    let settings = load(&[
        (
            "AUTH__ISSUERS__auth-0__ISSUER",
            "https://tenant.auth0.example/",
        ),
        ("AUTH__ISSUERS__auth-0__AUDIENCES", "agents"),
        ("AUTH__ISSUERS__Entra_ID__ISSUER", "http://127.0.0.1:9000"),
        ("AUTH__ISSUERS__Entra_ID__AUDIENCES", "agents"),
    ]);
    let issuers = settings.unwrap().auth.issuers;
    let found: Vec<_> = issuers
        .iter()
        .map(|it| (it.id.as_str(), &*it.name))
        .collect();
    let expected = [
        ("auth-0", "https://tenant.auth0.example/"),
        ("entra_id", "http://127.0.0.1:9000"),
        ("main", NAME),
    ];
    assert_eq!(found, expected);
}

#[test]
fn issuers_may_be_configured_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("service.toml");
    let text = "[auth.issuers.main]\nissuer = 'https://id.example.org'\naudiences = 'a,b'\n";
    std::fs::write(&path, text).unwrap();
    let over = ("AUTH__ISSUERS__MAIN__AUDIENCES".to_owned(), "c".to_owned());
    let issuers = Settings::load(Some(&path), [over]).unwrap().auth.issuers;
    assert_eq!(issuers.len(), 1);
    assert_eq!(issuers[0].name, "https://id.example.org");
    assert_eq!(issuers[0].audiences, ["c"]);
}

#[test]
fn addresses_at_insecure_hosts_may_be_http() {
    let backend = [
        ("AUTH__INSECURE_HOSTS", "backend:3000, keys"),
        ("ISSUER", "http://backend:3000/realm"),
        ("JWKS_URL", "http://keys/set.json"),
    ];
    let settings = load(&backend).unwrap();
    assert_eq!(settings.auth.issuers[0].name, "http://backend:3000/realm");
    assert_eq!(settings.auth.insecure_hosts, ["backend:3000", "keys"]);
    for (name, value) in [
        ("ISSUER", "http://backend"),
        ("ISSUER", "http://backend:3001"),
        ("ISSUER", "http://a.backend:3000"),
        ("ISSUER", "http://backend:3000.example"),
        ("ISSUER", "http://ada@backend:3000"),
        ("JWKS_URL", "http://keys:8080/set.json"),
        ("JWKS_URL", "http://other/set.json"),
    ] {
        let changed = load(&[backend[0], (name, value)]);
        let key = format!("AUTH__ISSUERS__MAIN__{name}");
        assert_eq!(rejected(changed)[0].0, key, "{value}");
    }
    for hosts in ["*", "http://backend", "*.internal", "Backend", "backend/"] {
        let found = rejected(load(&[("AUTH__INSECURE_HOSTS", hosts)]));
        assert_eq!(found[0].0, "AUTH__INSECURE_HOSTS", "{hosts}");
    }
}

#[test]
fn an_invalid_value_is_rejected_with_a_description_of_valid_ones() {
    for (name, value, expected) in [
        ("ISSUER", "", "set: the issuer's exact name"),
        ("ISSUER", "http://id.example.org", "https://"),
        ("ISSUER", "id.example.org", "https://"),
        ("ISSUER", "https://id.example.org?realm=a", "https://"),
        ("ISSUER", "https://ada:secret@id.example.org", "https://"),
        ("AUDIENCES", "", "set: comma-separated names"),
        ("AUDIENCES", ",", "names of this service"),
        ("AUDIENCES", "a,,b", "names of this service"),
        ("JWKS_URL", "http://id.example.org/keys", "https://"),
        ("JWKS_URL", "/keys", "https://"),
        ("JWKS_URL", "file:///keys", "https://"),
        ("ROLE_SCOPES", "admin=user-tokens:issue", "of the scopes"),
        ("ALGORITHMS", "HS256", "ES256, ES384, RS256, PS256, EdDSA"),
        ("ALGORITHMS", "none", "ES256"),
        ("ALGORITHMS", "ES256,", "ES256"),
        ("ALGORITHMS", "es256", "ES256"),
        ("TOKEN_TYPE", "JWT", "at+jwt or any"),
        ("TENANT", "ACME", "a tenant's id"),
        ("TENANT", "a/b", "a tenant's id"),
        ("TENANT_CLAIM", "a b", "a path to a claim"),
        ("SCOPE_CLAIMS", "scope,", "paths to claims"),
        ("ROLE_SCOPES", "admin", "roles with scopes"),
        ("ROLE_SCOPES", "admin=", "roles with scopes"),
        ("ROLE_SCOPES", "=agents:read", "roles with scopes"),
        (
            "ROLE_SCOPES",
            "admin=agents:all",
            "agents:read, agents:write",
        ),
        (
            "ROLE_SCOPES",
            "admin=agents:read;chat:write",
            "roles with scopes",
        ),
        (
            "ROLE_SCOPES",
            "a=agents:read,a=chat:write",
            "each role once",
        ),
    ] {
        let found = rejected(load(&[(name, value)]));
        let [(variable, reason)] = &found[..] else {
            panic!("{name}={value}: {found:?}");
        };
        assert_eq!(*variable, format!("AUTH__ISSUERS__MAIN__{name}"), "{value}");
        assert!(reason.contains(expected), "{name}={value}: {reason}");
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let found = rejected(load(&[
        ("AUDIENCES", ""),
        ("TOKEN_TYPE", "JWT"),
        ("TENANT", "acme"),
        ("TENANT_CLAIM", "tenant"),
        (
            "AUTH__ISSUERS__OTHER__JWKS_URL",
            "https://other.example/keys",
        ),
    ]));
    let variables: Vec<&str> = found.iter().map(|(variable, _)| &**variable).collect();
    let expected = [
        "AUTH__ISSUERS__MAIN__AUDIENCES",
        "AUTH__ISSUERS__MAIN__TOKEN_TYPE",
        "AUTH__ISSUERS__MAIN__TENANT_CLAIM",
        "AUTH__ISSUERS__OTHER__ISSUER",
        "AUTH__ISSUERS__OTHER__AUDIENCES",
    ];
    assert_eq!(variables, expected);
}

#[test]
fn issuer_names_are_unique_and_differ_from_the_own_url() {
    let same = [
        ("AUTH__ISSUERS__OTHER__ISSUER", NAME),
        ("AUTH__ISSUERS__OTHER__AUDIENCES", "agents"),
    ];
    let found = rejected(load(&same));
    assert_eq!(found[0].0, "AUTH__ISSUERS__OTHER__ISSUER");
    assert_eq!(found.len(), 1);
    let configured = [("SERVER__PUBLIC_URL", NAME)];
    assert_eq!(
        rejected(load(&configured))[0].0,
        "AUTH__ISSUERS__MAIN__ISSUER"
    );
    let by_default = [("ISSUER", "http://127.0.0.1:8080")];
    assert_eq!(
        rejected(load(&by_default))[0].0,
        "AUTH__ISSUERS__MAIN__ISSUER"
    );
    let elsewhere = [
        ("ISSUER", "http://127.0.0.1:8080"),
        ("SERVER__PORT", "8081"),
    ];
    assert!(load(&elsewhere).is_ok());
}

#[test]
fn an_unknown_variable_is_rejected_by_name() {
    let too_long = format!("AUTH__ISSUERS__{}__ISSUER", "A".repeat(65));
    for name in [
        "AUTH__ISSUERS__MAIN__AUDIENCE",
        "AUTH__ISSUERS__MAIN__issuer",
        "AUTH__ISSUERS__MAIN",
        "AUTH__ISSUERS__ISSUER",
        "AUTH__ISSUERS____ISSUER",
        "AUTH__ISSUERS__A__B__ISSUER",
        "AUTH__ISSUERS__A.B__ISSUER",
        "AUTH__ISSUERS__Ä__ISSUER",
        &too_long,
    ] {
        let found = rejected(load(&[(name, "https://id.example")]));
        assert_eq!(found, [(name.to_owned(), "unknown".to_owned())]);
    }
}

#[test]
fn a_setting_in_two_spellings_is_rejected() {
    let twice = [("AUTH__ISSUERS__main__AUDIENCES", "others")];
    let found = rejected(load(&twice));
    let expected = "set in one spelling only".to_owned();
    assert_eq!(
        found,
        [("AUTH__ISSUERS__MAIN__AUDIENCES".to_owned(), expected)]
    );
}
