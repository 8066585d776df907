//! The creation of a credential.

use domain::{Credential, CredentialKind, IdempotencyEntry};
use ports::{Facts, FactsQuery, Idempotent, RepositoryError, write_store::RecordKey};

use crate::{Command, Part, Planned, Planner, Scope};

/// Stores a new credential, and the idempotency entry; writes nothing if the entry's key was used
/// before. `Conflict` if the id exists.
#[derive(Debug, Clone)]
pub struct CreateCredential {
    /// The new credential.
    pub credential: Credential,
    /// The idempotency entry.
    pub idempotency: Option<IdempotencyEntry>,
}

impl CreateCredential {
    fn key(&self) -> Option<RecordKey> {
        RecordKey::of(&self.credential.tenant, self.idempotency.as_ref())
    }
}

impl Command for CreateCredential {
    type Outcome = Idempotent<()>;

    fn scope(&self) -> Scope {
        Scope::new(&self.credential.tenant, self.key().map(Part::Key))
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.idempotency.extend(self.key());
        query.new_credentials.push(self.credential.id.clone());
    }

    /// It has no event, but its id is unique.
    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let created = facts.credentials.contains_key(&self.credential.id);
        created.then_some(Idempotent::Applied(()))
    }

    /// Checks the idempotency key first, then whether the id is unused.
    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let Self {
            credential,
            idempotency,
        } = self;
        let tenant = &credential.tenant;
        if let Some(replayed) = planner.replayed(tenant, idempotency.as_ref()) {
            return Ok(replayed);
        }
        if planner.facts.credentials.contains_key(&credential.id) {
            return Err(RepositoryError::Conflict {
                what: credential.kind.as_str(),
            });
        }
        planner.rows.credentials.push(credential.clone());
        planner.rows.state.records_key |= credential.kind == CredentialKind::Key;
        planner.push_record(tenant, idempotency.clone(), None);
        Ok(Planned::Applied(Idempotent::Applied(())))
    }
}
