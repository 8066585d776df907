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
fn a_name_and_a_scope_are_enough() {
    for kind in [Key, Client] {
        assert_eq!(faults(kind, &draft()), []);
    }
    assert_eq!(draft().public_keys(), None);
}

#[test]
fn all_faults_are_returned_at_once() {
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
fn only_keys_have_origins_and_only_clients_have_public_keys() {
    let with_origins = CredentialDraft {
        allowed_origins: vec!["https://a.example".to_owned()],
        ..draft()
    };
    let with_key_url = CredentialDraft {
        jwks_uri: Some("https://a.example/keys".to_owned()),
        ..draft()
    };
    let with_key_set = CredentialDraft {
        jwks: Some(json!({"keys": []})),
        ..draft()
    };
    let unknown_member = |pointer| fault(pointer, FaultCode::UnknownMember);
    assert_eq!(faults(Key, &with_origins), []);
    assert_eq!(
        faults(Client, &with_origins),
        [unknown_member("/allowedOrigins")]
    );
    assert_eq!(faults(Client, &with_key_url), []);
    assert_eq!(faults(Key, &with_key_url), [unknown_member("/jwksUri")]);
    assert!(faults(Key, &with_key_set).contains(&unknown_member("/jwks")));
    assert!(!faults(Client, &with_key_set).contains(&unknown_member("/jwks")));
}

#[test]
fn a_name_has_a_maximum_length_and_no_control_characters() {
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
fn a_key_has_at_most_thirty_two_origins() {
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
fn public_keys_are_stored_without_unknown_members() {
    let set = json!({"keys": [{"kty": "EC", "x5u": "https://a.example"}]});
    let draft = CredentialDraft {
        jwks: Some(set),
        ..draft()
    };
    let kept = PublicKeys::Set(json!({"keys": [{"kty": "EC"}]}));
    assert_eq!(draft.public_keys(), Some(kept));
}
