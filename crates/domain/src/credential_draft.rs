//! The content of a new key or client, and its validation.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentReach, Credential, CredentialId, CredentialKind, FaultCode, InputFault, LimitOverrides,
    Scopes, TenantId, Timestamp, allowed_origin,
    credential::{Proof, PublicKeys},
    fault::push_index,
    public_key_set, web_address,
};

/// The maximum number of origins of a key.
pub const MAX_ALLOWED_ORIGINS: usize = 32;

/// The maximum number of agents that a credential names.
pub const MAX_AGENTS: usize = 50;

/// The content of a new key or client, as the caller sets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialDraft {
    /// The name, for people.
    pub name: String,
    /// The permissions.
    pub scopes: Scopes,
    /// The agents that it can reach.
    #[serde(
        default,
        rename = "agentIds",
        skip_serializing_if = "AgentReach::is_all"
    )]
    pub agents: AgentReach,
    /// The time from which it is rejected; `None` if it does not expire.
    pub expires_at: Option<Timestamp>,
    /// The only browser origins that may use it; empty for any. Always empty for clients, whose
    /// secrets must not be in browsers.
    #[serde(default)]
    pub allowed_origins: Vec<String>,
    /// The credential's own rate limits.
    #[serde(default)]
    pub limits: LimitOverrides,
    /// The public keys with which a client's signatures are verified, in place of a secret.
    pub jwks: Option<Value>,
    /// The URL of a client's public keys, in place of the keys themselves.
    pub jwks_uri: Option<String>,
}

impl CredentialDraft {
    /// Creates a draft with the required members only.
    pub fn new(name: impl Into<String>, scopes: Scopes) -> Self {
        Self {
            name: name.into(),
            scopes,
            agents: AgentReach::ALL,
            expires_at: None,
            allowed_origins: Vec::new(),
            limits: LimitOverrides::default(),
            jwks: None,
            jwks_uri: None,
        }
    }

    /// Returns all faults of the draft, for a credential of this kind. `name_characters` is the
    /// maximum length of the name.
    pub fn check(
        &self,
        kind: CredentialKind,
        name_characters: u32,
        now: Timestamp,
    ) -> Vec<InputFault> {
        let mut faults = check_name(&self.name, name_characters);
        if self.scopes == Scopes::NONE {
            let detail = "at least 1 item";
            faults.push(InputFault::new("/scopes", FaultCode::TooShort, detail));
        }
        if self.expires_at.is_some_and(|end| end <= now) {
            let detail = "must be in the future";
            faults.push(InputFault::new("/expiresAt", FaultCode::TooSmall, detail));
        }
        faults.extend(check_agents(&self.agents, &self.scopes));
        faults.extend(self.check_members(kind));
        faults.extend(check_origins(&self.allowed_origins, MAX_ALLOWED_ORIGINS));
        if self.jwks.is_some() && self.jwks_uri.is_some() {
            let detail = "cannot be combined with 'jwks'";
            faults.push(InputFault::new(
                "/jwksUri",
                FaultCode::NotCombinable,
                detail,
            ));
        }
        faults.extend(self.jwks.iter().flat_map(check_keys));
        let address = self.jwks_uri.as_deref();
        if address.is_some_and(|address| !web_address::is_https_address(address)) {
            let detail = web_address::HTTPS_IN_WORDS;
            faults.push(InputFault::new("/jwksUri", FaultCode::BadFormat, detail));
        }
        faults
    }

    /// Returns a fault for each member that credentials of this kind do not have.
    fn check_members(&self, kind: CredentialKind) -> impl Iterator<Item = InputFault> + use<> {
        use CredentialKind::{Client, Key};
        let members = [
            ("/allowedOrigins", !self.allowed_origins.is_empty(), Key),
            ("/jwks", self.jwks.is_some(), Client),
            ("/jwksUri", self.jwks_uri.is_some(), Client),
        ];
        members
            .into_iter()
            .filter_map(move |(pointer, is_present, owner)| {
                let detail = match owner {
                    Key => "only keys have this member",
                    Client => "only clients have this member",
                };
                (is_present && owner != kind)
                    .then(|| InputFault::new(pointer, FaultCode::UnknownMember, detail))
            })
    }

    /// Returns the public keys in place of a secret, in their stored form.
    pub fn public_keys(&self) -> Option<PublicKeys> {
        let set = self.jwks.as_ref().map(public_key_set::understood);
        let address = self.jwks_uri.clone();
        set.map(PublicKeys::Set)
            .or_else(|| address.map(PublicKeys::At))
    }

    /// Returns the new credential with the content of this draft.
    pub fn into_credential(
        self,
        kind: CredentialKind,
        id: CredentialId,
        tenant: TenantId,
        proof: Proof,
        now: Timestamp,
    ) -> Credential {
        Credential {
            kind,
            id,
            tenant,
            name: self.name,
            scopes: self.scopes,
            agents: self.agents,
            proof,
            created_at: now,
            expires_at: self.expires_at,
            last_used_at: None,
            revoked_at: None,
            allowed_origins: self.allowed_origins,
            limits: self.limits,
        }
    }
}

/// Returns all faults of a key set that is at `/jwks` of a body.
pub fn check_keys(set: &Value) -> impl Iterator<Item = InputFault> + use<> {
    let faults = public_key_set::check(set).into_iter();
    faults.map(|fault| fault.below("/jwks"))
}

fn check_name(name: &str, most: u32) -> Vec<InputFault> {
    let fault = |code, detail: String| vec![InputFault::new("/name", code, detail)];
    let characters = name.chars().count();
    if characters == 0 {
        return fault(FaultCode::TooShort, "at least 1 character".to_owned());
    }
    if characters > most as usize {
        return fault(FaultCode::TooLong, format!("at most {most} characters"));
    }
    let is_forbidden = |it: char| it.is_control() && !matches!(it, '\t' | '\n' | '\r');
    if name.contains(is_forbidden) {
        let detail = "no control characters but tab, CR and LF";
        return fault(FaultCode::BadCharacter, detail.to_owned());
    }
    Vec::new()
}

/// Returns the faults of the agents at `/agentIds` of a body that grants these scopes.
pub fn check_agents(agents: &AgentReach, scopes: &Scopes) -> Vec<InputFault> {
    let fault = |code, detail: String| InputFault::new("/agentIds", code, detail);
    let mut faults = Vec::new();
    match agents.ids().map(<[_]>::len) {
        Some(0) => faults.push(fault(FaultCode::TooShort, "at least 1 item".to_owned())),
        Some(count) if count > MAX_AGENTS => {
            let detail = format!("at most {MAX_AGENTS} items");
            faults.push(fault(FaultCode::TooMany, detail));
        }
        _ => {}
    }
    let too_wide = agents.too_wide(scopes);
    if too_wide != Scopes::NONE {
        let detail = format!("cannot be combined with {}", too_wide.joined(", "));
        faults.push(fault(FaultCode::NotCombinable, detail));
    }
    faults
}

/// Returns a fault for each of the agents at `/agentIds` of a body that is out of the caller's reach.
pub fn check_reach(of_caller: &AgentReach, agents: &AgentReach) -> Vec<InputFault> {
    let ids = agents.ids().unwrap_or_default().iter().enumerate();
    let out_of_reach = ids.filter(|(_, id)| !of_caller.contains(**id));
    let fault = |(index, _)| {
        let mut pointer = "/agentIds".to_owned();
        push_index(&mut pointer, index);
        InputFault::new(pointer, FaultCode::UnknownValue, "no agent of the caller")
    };
    out_of_reach.map(fault).collect()
}

/// Returns all faults of a list of at most `most` origins at `/allowedOrigins` of a body.
pub fn check_origins(origins: &[String], most: usize) -> Vec<InputFault> {
    if origins.len() > most {
        let detail = format!("at most {most} items");
        return vec![InputFault::new(
            "/allowedOrigins",
            FaultCode::TooMany,
            detail,
        )];
    }
    let found = origins.iter().enumerate().filter_map(|(index, origin)| {
        let mut pointer = String::from("/allowedOrigins");
        push_index(&mut pointer, index);
        if !allowed_origin::is_entry(origin) {
            let detail = allowed_origin::ENTRY_IN_WORDS;
            Some(InputFault::new(pointer, FaultCode::BadFormat, detail))
        } else if origins[..index].contains(origin) {
            let detail = "stands here twice";
            Some(InputFault::new(pointer, FaultCode::DuplicateItem, detail))
        } else {
            None
        }
    });
    found.collect()
}

#[cfg(test)]
mod tests;
