//! Changes of existing keys and clients.

use serde_json::Value;

use crate::{Credential, CredentialDraft, merge_patch};

impl CredentialDraft {
    /// Applies a JSON merge patch. Fails if the result is no draft, which a patch that matches its
    /// schema never causes.
    pub fn patched(&self, patch: &Value) -> Result<Self, serde_json::Error> {
        let mut document = serde_json::to_value(self)?;
        merge_patch::apply(&mut document, patch.clone());
        serde_json::from_value(document)
    }
}

impl Credential {
    /// Returns the content that its creation and its changes have set, without public keys.
    pub fn draft(&self) -> CredentialDraft {
        CredentialDraft {
            agents: self.agents.clone(),
            expires_at: self.expires_at,
            allowed_origins: self.allowed_origins.clone(),
            limits: self.limits.clone(),
            ..CredentialDraft::new(self.name.clone(), self.scopes.clone())
        }
    }

    /// Returns this credential with the content of `draft`, except its scopes and public keys. Returns
    /// `None` if nothing changes.
    pub fn changed_to(&self, draft: CredentialDraft) -> Option<Self> {
        let changed = Self {
            name: draft.name,
            agents: draft.agents,
            expires_at: draft.expires_at,
            allowed_origins: draft.allowed_origins,
            limits: draft.limits,
            ..self.clone()
        };
        (changed != *self).then_some(changed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        AgentReach, CredentialKind, CredentialSecret, LimitOverrides, Scope, Timestamp,
        credential::{Proof, StoredSecret},
        credential_secret::RANDOM_BYTES,
    };

    fn key() -> Credential {
        let agent = crate::AgentId::new(uuid::Uuid::from_u128(1));
        let draft = CredentialDraft {
            agents: AgentReach::only([agent]),
            expires_at: Some(Timestamp::from_milliseconds(5)),
            allowed_origins: vec!["https://a.example".to_owned()],
            limits: LimitOverrides {
                chat_burst: Some(3),
                streams: Some(0),
                ..LimitOverrides::default()
            },
            ..CredentialDraft::new("ci", [Scope::ChatWrite].into_iter().collect())
        };
        let secret = CredentialSecret::mint(CredentialKind::Key, &[7; RANDOM_BYTES]);
        let proof = Proof::Secret(StoredSecret {
            digest: secret.digest(),
            last4: secret.last4().to_owned(),
            previous: None,
        });
        let now = Timestamp::from_milliseconds(1);
        let tenant = "default".parse().expect("a tenant");
        draft.into_credential(CredentialKind::Key, secret.id(), tenant, proof, now)
    }

    fn changed(patch: &Value) -> Option<Credential> {
        let draft = key().draft().patched(patch).expect("its form");
        key().changed_to(draft)
    }

    #[test]
    fn null_restores_the_default_of_a_member() {
        let patch =
            json!({"agentIds": null, "expiresAt": null, "allowedOrigins": null, "limits": null});
        let expected = Credential {
            agents: AgentReach::ALL,
            expires_at: None,
            allowed_origins: Vec::new(),
            limits: LimitOverrides::default(),
            ..key()
        };
        assert_eq!(changed(&patch), Some(expected));
    }

    #[test]
    fn limits_are_merged_and_lists_are_replaced() {
        let limits = json!({"chatBurst": null, "requestsBurst": 9});
        let patch = json!({"limits": limits, "allowedOrigins": ["https://b.example"]});
        let expected = Credential {
            allowed_origins: vec!["https://b.example".to_owned()],
            limits: LimitOverrides {
                requests_burst: Some(9),
                streams: Some(0),
                ..LimitOverrides::default()
            },
            ..key()
        };
        assert_eq!(changed(&patch), Some(expected));
    }

    #[test]
    fn a_patch_without_effect_changes_nothing() {
        for patch in [json!({}), json!({"name": "ci", "limits": {"streams": 0}})] {
            assert_eq!(changed(&patch), None);
        }
    }
}
