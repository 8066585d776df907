//! Settings of identity providers.

use std::collections::{BTreeMap, BTreeSet};

use access::{
    jwt::{ACCESS_TOKEN, SignatureAlgorithm},
    tokens::{ClaimPath, IssuerConfig, KeyLocation, TenantSource, TokenType},
};
use domain::{
    AgentReach, Scope, Scopes, TenantId,
    credential_draft::MAX_AGENTS,
    web_address::{is_http_address_at, is_https_or_loopback_address},
};

use super::{named::NamedSettings, values::Values};

const ISSUER: &str = "AUTH__ISSUERS__<ID>__ISSUER";
const AUDIENCES: &str = "AUTH__ISSUERS__<ID>__AUDIENCES";
const AUDIENCE_CLAIM: &str = "AUTH__ISSUERS__<ID>__AUDIENCE_CLAIM";
const JWKS_URL: &str = "AUTH__ISSUERS__<ID>__JWKS_URL";
const ALGORITHMS: &str = "AUTH__ISSUERS__<ID>__ALGORITHMS";
const TOKEN_TYPE: &str = "AUTH__ISSUERS__<ID>__TOKEN_TYPE";
const TENANT: &str = "AUTH__ISSUERS__<ID>__TENANT";
const TENANT_CLAIM: &str = "AUTH__ISSUERS__<ID>__TENANT_CLAIM";
const SCOPE_CLAIMS: &str = "AUTH__ISSUERS__<ID>__SCOPE_CLAIMS";
const ROLE_SCOPES: &str = "AUTH__ISSUERS__<ID>__ROLE_SCOPES";
const AGENT_IDS: &str = "AUTH__ISSUERS__<ID>__AGENT_IDS";

/// All keys, in the order in which they are documented.
const KEYS: &[&str] = &[
    ISSUER,
    AUDIENCES,
    AUDIENCE_CLAIM,
    JWKS_URL,
    ALGORITHMS,
    TOKEN_TYPE,
    TENANT,
    TENANT_CLAIM,
    SCOPE_CLAIMS,
    ROLE_SCOPES,
    AGENT_IDS,
];

/// The default of `SCOPE_CLAIMS`.
const DEFAULT_SCOPE_CLAIMS: &str = "scope,scp";

/// Reads `AUTH__ISSUERS__…`. `own_url` is the issuer name of this service. At `insecure_hosts`,
/// addresses may begin with http://.
pub(super) fn read(
    values: &mut Values,
    own_url: &str,
    insecure_hosts: &[String],
) -> Vec<IssuerConfig> {
    let mut used_names = BTreeSet::from([own_url.to_owned()]);
    let issuers = values.read_named(KEYS, |named| issuer(named, &mut used_names, insecure_hosts));
    issuers.into_iter().flatten().collect()
}

/// Reads one issuer; `None` if one of its settings is invalid.
fn issuer(
    named: &mut NamedSettings<'_>,
    used_names: &mut BTreeSet<String>,
    insecure_hosts: &[String],
) -> Option<IssuerConfig> {
    let web_address = |text: &str| {
        let is_valid =
            is_https_or_loopback_address(text) || is_http_address_at(insecure_hosts, text);
        is_valid.then(|| text.to_owned())
    };
    let name = issuer_name(named, used_names, web_address);
    let audiences = "comma-separated names of this service in the tokens (aud), so that tokens for \
                     other services are rejected";
    let audiences = named.read_required(AUDIENCES, audiences, |text| list(text, audience));
    let path = "a path to the claim that replaces a missing aud, such as client_id";
    let audience_claim = named.read_optional(AUDIENCE_CLAIM, path, |text| text.parse().ok());
    let address = "an address that begins with https://, or http:// on this machine and at \
                   AUTH__INSECURE_HOSTS";
    let keys = named.read_optional(JWKS_URL, address, web_address);
    let algorithms = format!("a comma-separated selection of {}", all_algorithms());
    let algorithms = named.read_optional(ALGORITHMS, &algorithms, |text| {
        list(text, |name| name.parse().ok())
    });
    let token_type = named.read_optional(TOKEN_TYPE, "at+jwt or any", token_type);
    let tenant = tenant(named);
    let paths = "comma-separated paths to claims, such as scope,realm_access.roles";
    let scope_claims = named.read_optional(SCOPE_CLAIMS, paths, claim_paths);
    let role_scopes = named.read_optional(ROLE_SCOPES, &role_scopes_form(), role_scopes);
    let expected = "comma-separated ids of agents, at most 50";
    let agents = named.read_optional(AGENT_IDS, expected, agents);
    let name = name?;
    Some(IssuerConfig {
        id: named.name().parse().ok()?,
        audiences: audiences?,
        audience_claim,
        keys: keys.map_or_else(|| KeyLocation::MetadataOf(name.clone()), KeyLocation::Url),
        name,
        algorithms: algorithms.unwrap_or_else(|| SignatureAlgorithm::ALL.to_vec()),
        token_type: token_type.unwrap_or(TokenType::AccessToken),
        tenant: tenant?,
        scope_claims: scope_claims.or_else(|| claim_paths(DEFAULT_SCOPE_CLAIMS))?,
        role_scopes: role_scopes.unwrap_or_default(),
        agents: agents.unwrap_or_default(),
    })
}

fn issuer_name(
    named: &mut NamedSettings<'_>,
    used_names: &mut BTreeSet<String>,
    web_address: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let expected = "the issuer's exact name in its tokens (iss), which begins with https://, or \
                    http:// on this machine and at AUTH__INSECURE_HOSTS";
    let name = named.read_required(ISSUER, expected, |text| {
        web_address(text).filter(|name| !name.contains('?'))
    })?;
    if !used_names.insert(name.clone()) {
        let expected = "different from the names of other issuers and from the URL of this service";
        named.reject(ISSUER, expected);
        return None;
    }
    Some(name)
}

fn tenant(named: &mut NamedSettings<'_>) -> Option<TenantSource> {
    let expected = "a tenant's id: 1 to 64 of a-z, 0-9 and -";
    let fixed = named.read_optional(TENANT, expected, |text| text.parse::<TenantId>().ok());
    let expected = "a path to a claim, such as tenant or org.id";
    let claim = named.read_optional(TENANT_CLAIM, expected, |text| text.parse().ok());
    match (named.is_set(TENANT), named.is_set(TENANT_CLAIM)) {
        (true, true) => {
            named.reject(TENANT_CLAIM, "unset if TENANT is set");
            None
        }
        (_, true) => claim.map(TenantSource::Claim),
        (true, _) => fixed.map(TenantSource::Fixed),
        (false, false) => TenantId::DEFAULT.parse().ok().map(TenantSource::Fixed),
    }
}

/// Parses comma-separated items, ignoring blanks around them; `None` if an item is invalid.
fn list<T>(text: &str, item: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    text.split(',').map(|text| item(text.trim())).collect()
}

fn agents(text: &str) -> Option<AgentReach> {
    let ids = list(text, |id| id.parse().ok())?;
    (ids.len() <= MAX_AGENTS).then(|| AgentReach::only(ids))
}

fn audience(text: &str) -> Option<String> {
    let fits = !text.is_empty() && !text.contains(char::is_control);
    fits.then(|| text.to_owned())
}

fn token_type(text: &str) -> Option<TokenType> {
    match text {
        ACCESS_TOKEN => Some(TokenType::AccessToken),
        "any" => Some(TokenType::Any),
        _ => None,
    }
}

fn claim_paths(text: &str) -> Option<Vec<ClaimPath>> {
    list(text, |path| path.parse().ok())
}

/// Parses `role=scope+scope,role=scope`. The name of a role may contain `=`.
fn role_scopes(text: &str) -> Option<BTreeMap<String, Scopes>> {
    let mut roles = BTreeMap::new();
    for (role, scopes) in list(text, role)? {
        if roles.insert(role, scopes).is_some() {
            return None;
        }
    }
    Some(roles)
}

fn role(text: &str) -> Option<(String, Scopes)> {
    let (role, scopes) = text.rsplit_once('=')?;
    let role = audience(role.trim())?;
    let scopes = scopes.split('+').map(|scope| scope.trim().parse::<Scope>());
    let scopes: Scopes = scopes.collect::<Result<_, _>>().ok()?;
    scopes_of_roles()
        .includes(&scopes)
        .then_some((role, scopes))
}

/// The scopes that users of an issuer can have.
fn scopes_of_roles() -> Scopes {
    Scopes::all().without(&Scopes::NONE.with(Scope::UserTokensIssue))
}

fn role_scopes_form() -> String {
    format!(
        "roles with scopes, such as admin=agents:read+agents:write,reader=agents:read, each role \
         once, of the scopes {}",
        scopes_of_roles().joined(", ")
    )
}

fn all_algorithms() -> String {
    let all = SignatureAlgorithm::ALL.iter();
    let names: Vec<&str> = all.map(|algorithm| algorithm.as_str()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
