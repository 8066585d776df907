//! What a caller decides of a new key or client, and what can be wrong with it.

use serde::Serialize;
use serde_json::Value;

use crate::{
    Credential, CredentialId, CredentialKind, Fault, FaultCode, LimitOverrides, Scopes, TenantId,
    Timestamp,
    credential::{Proof, PublicKeys},
    fault::push_index,
    public_key_set, web_address,
};

/// Origins that a key can be confined to.
pub const MOST_ALLOWED_ORIGINS: usize = 32;

/// What a caller decides of a new key or client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialDraft {
    /// What people call it.
    pub name: String,
    /// What it may do.
    pub scopes: Scopes,
    /// From when on it is refused.
    pub expires_at: Option<Timestamp>,
    /// Browser origins that alone may use it; empty for any, and for clients, which browsers
    /// never show.
    pub allowed_origins: Vec<String>,
    /// Its own rate limits.
    pub limits: LimitOverrides,
    /// The public keys by which a client signs, in place of a secret.
    pub jwks: Option<Value>,
    /// Where a client's public keys are published, in place of the keys themselves.
    pub jwks_uri: Option<String>,
}

impl CredentialDraft {
    /// A draft that says no more than it must.
    pub fn new(name: impl Into<String>, scopes: Scopes) -> Self {
        Self {
            name: name.into(),
            scopes,
            expires_at: None,
            allowed_origins: Vec::new(),
            limits: LimitOverrides::default(),
            jwks: None,
            jwks_uri: None,
        }
    }

    /// Everything that is wrong with it as a draft of this kind, for a name of at most so many
    /// characters.
    pub fn check(&self, kind: CredentialKind, name_characters: u32, now: Timestamp) -> Vec<Fault> {
        let mut faults = check_name(&self.name, name_characters);
        if self.scopes == Scopes::NONE {
            let detail = "at least 1 item";
            faults.push(Fault::new("/scopes", FaultCode::TooShort, detail));
        }
        if self.expires_at.is_some_and(|end| end <= now) {
            let detail = "must be in the future";
            faults.push(Fault::new("/expiresAt", FaultCode::TooSmall, detail));
        }
        faults.extend(self.check_members(kind));
        faults.extend(check_origins(&self.allowed_origins));
        if self.jwks.is_some() && self.jwks_uri.is_some() {
            let detail = "not together with 'jwks'";
            faults.push(Fault::new("/jwksUri", FaultCode::NotCombinable, detail));
        }
        faults.extend(self.jwks.iter().flat_map(check_keys));
        let address = self.jwks_uri.as_deref();
        if address.is_some_and(|address| !web_address::is_https_address(address)) {
            let detail = web_address::HTTPS_IN_WORDS;
            faults.push(Fault::new("/jwksUri", FaultCode::BadFormat, detail));
        }
        faults
    }

    /// What it says that credentials of this kind do not have.
    fn check_members(&self, kind: CredentialKind) -> impl Iterator<Item = Fault> + use<> {
        use CredentialKind::{Client, Key};
        let members = [
            ("/allowedOrigins", !self.allowed_origins.is_empty(), Key),
            ("/jwks", self.jwks.is_some(), Client),
            ("/jwksUri", self.jwks_uri.is_some(), Client),
        ];
        members
            .into_iter()
            .filter_map(move |(pointer, is_there, owner)| {
                let detail = match owner {
                    Key => "for keys alone",
                    Client => "for clients alone",
                };
                (is_there && owner != kind)
                    .then(|| Fault::new(pointer, FaultCode::UnknownMember, detail))
            })
    }

    /// The public keys that take the place of a secret, as they are stored.
    pub fn public_keys(&self) -> Option<PublicKeys> {
        let set = self.jwks.as_ref().map(public_key_set::understood);
        let address = self.jwks_uri.clone();
        set.map(PublicKeys::Set)
            .or_else(|| address.map(PublicKeys::At))
    }

    /// The credential that a creation makes of this draft.
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

/// Everything that is wrong with a key set that stands at `/jwks` of a body.
pub fn check_keys(set: &Value) -> impl Iterator<Item = Fault> + use<> {
    let faults = public_key_set::check(set).into_iter();
    faults.map(|fault| fault.below("/jwks"))
}

fn check_name(name: &str, most: u32) -> Vec<Fault> {
    let fault = |code, detail: String| vec![Fault::new("/name", code, detail)];
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

fn check_origins(origins: &[String]) -> Vec<Fault> {
    if origins.len() > MOST_ALLOWED_ORIGINS {
        let detail = format!("at most {MOST_ALLOWED_ORIGINS} items");
        return vec![Fault::new("/allowedOrigins", FaultCode::TooMany, detail)];
    }
    let found = origins.iter().enumerate().filter_map(|(index, origin)| {
        let mut pointer = String::from("/allowedOrigins");
        push_index(&mut pointer, index);
        if !web_address::is_origin(origin) {
            let detail = web_address::ORIGIN_IN_WORDS;
            Some(Fault::new(pointer, FaultCode::BadFormat, detail))
        } else if origins[..index].contains(origin) {
            let detail = "stands here twice";
            Some(Fault::new(pointer, FaultCode::DuplicateItem, detail))
        } else {
            None
        }
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        CredentialKind::{Client, Key},
        Scope,
    };

    const NOW: Timestamp = Timestamp::from_milliseconds(1_000);

    fn draft() -> CredentialDraft {
        CredentialDraft::new("ci", [Scope::AgentsRead].into_iter().collect())
    }

    fn faults(kind: CredentialKind, draft: &CredentialDraft) -> Vec<(String, FaultCode)> {
        let found = draft.check(kind, 128, NOW).into_iter();
        found.map(|fault| (fault.pointer, fault.code)).collect()
    }

    fn fault(pointer: &str, code: FaultCode) -> (String, FaultCode) {
        (pointer.to_owned(), code)
    }

    #[test]
    fn takes_a_name_and_a_scope_alone() {
        for kind in [Key, Client] {
            assert_eq!(faults(kind, &draft()), []);
        }
        assert_eq!(draft().public_keys(), None);
    }

    #[test]
    fn tells_all_that_is_wrong_at_once() {
        let draft = CredentialDraft {
            name: String::new(),
            scopes: Scopes::NONE,
            expires_at: Some(NOW),
            allowed_origins: ["https://a.example", "*", "https://a.example"]
                .map(ToOwned::to_owned)
                .to_vec(),
            jwks: Some(json!({"keys": [{"kty": "oct"}]})),
            jwks_uri: Some("http://a.example".to_owned()),
            ..draft()
        };
        let expected = [
            fault("/name", FaultCode::TooShort),
            fault("/scopes", FaultCode::TooShort),
            fault("/expiresAt", FaultCode::TooSmall),
            fault("/allowedOrigins", FaultCode::UnknownMember),
            fault("/allowedOrigins/1", FaultCode::BadFormat),
            fault("/allowedOrigins/2", FaultCode::DuplicateItem),
            fault("/jwksUri", FaultCode::NotCombinable),
            fault("/jwks/keys/0/kty", FaultCode::UnknownValue),
            fault("/jwksUri", FaultCode::BadFormat),
        ];
        assert_eq!(faults(Client, &draft), expected);
    }

    #[test]
    fn origins_are_for_keys_alone_and_public_keys_for_clients_alone() {
        let confined = CredentialDraft {
            allowed_origins: vec!["https://a.example".to_owned()],
            ..draft()
        };
        let signing = CredentialDraft {
            jwks_uri: Some("https://a.example/keys".to_owned()),
            ..draft()
        };
        let signing_by = CredentialDraft {
            jwks: Some(json!({"keys": []})),
            ..draft()
        };
        let strange = |pointer| fault(pointer, FaultCode::UnknownMember);
        assert_eq!(faults(Key, &confined), []);
        assert_eq!(faults(Client, &confined), [strange("/allowedOrigins")]);
        assert_eq!(faults(Client, &signing), []);
        assert_eq!(faults(Key, &signing), [strange("/jwksUri")]);
        assert!(faults(Key, &signing_by).contains(&strange("/jwks")));
        assert!(!faults(Client, &signing_by).contains(&strange("/jwks")));
    }

    #[test]
    fn a_name_has_a_size_and_no_control_characters() {
        for (name, code) in [
            ("x".repeat(129), FaultCode::TooLong),
            ("a\u{1b}[2J".to_owned(), FaultCode::BadCharacter),
            ("a\0".to_owned(), FaultCode::BadCharacter),
        ] {
            let draft = CredentialDraft { name, ..draft() };
            assert_eq!(faults(Key, &draft), [fault("/name", code)]);
        }
        let longest = CredentialDraft {
            name: "🦊".repeat(128),
            ..draft()
        };
        assert_eq!(faults(Key, &longest), []);
    }

    #[test]
    fn a_key_is_confined_to_thirty_two_origins_at_most() {
        let origins = |count: usize| CredentialDraft {
            allowed_origins: (0..count)
                .map(|it| format!("https://a{it}.example"))
                .collect(),
            ..draft()
        };
        assert_eq!(faults(Key, &origins(32)), []);
        let expected = fault("/allowedOrigins", FaultCode::TooMany);
        assert_eq!(faults(Key, &origins(33)), [expected]);
    }

    #[test]
    fn public_keys_are_kept_without_what_is_not_understood() {
        let set = json!({"keys": [{"kty": "EC", "x5u": "https://a.example"}]});
        let draft = CredentialDraft {
            jwks: Some(set),
            ..draft()
        };
        let kept = PublicKeys::Set(json!({"keys": [{"kty": "EC"}]}));
        assert_eq!(draft.public_keys(), Some(kept));
    }
}
