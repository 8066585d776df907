//! The storage of a user.

use domain::{InputFault, Stamp, TenantId, User, UserDraft};
use ports::{FactsQuery, RepositoryError, write_store::UserRow};
use serde_json::Value;

use crate::{Command, Committed, Part, Planned, Planner, Scope, event_rows};

/// Stores a user, or changes what is stored about it. Writes `user.updated`, unless nothing changes.
#[derive(Debug, Clone)]
pub struct SaveUser {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The user.
    pub user_id: String,
    /// The change, which matches its schema.
    pub change: UserChange,
    /// The time and the actor.
    pub stamp: Stamp,
}

/// A change of what is stored about a user.
#[derive(Debug, Clone)]
pub enum UserChange {
    /// Other content in place of what is stored, if anything.
    Replace(UserDraft),
    /// A JSON merge patch of the content.
    Patch(Value),
}

/// A user as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedUser {
    /// The user.
    pub user: User,
    /// True if nothing was stored about it before.
    pub is_new: bool,
    /// The position of the event; `None` if nothing changed.
    pub committed: Option<Committed>,
}

/// The reasons why a user is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserRejection {
    /// A patch is for a user of whom nothing is stored.
    NotFound,
    /// The user would not be valid.
    Invalid(Vec<InputFault>),
}

impl SaveUser {
    /// Returns the content after the change. Concurrent patches are each judged with the result of the
    /// other.
    fn content(
        &self,
        stored: Option<&User>,
    ) -> Result<Result<UserDraft, UserRejection>, RepositoryError> {
        let draft = match (&self.change, stored) {
            (UserChange::Replace(draft), _) => draft.clone(),
            (UserChange::Patch(_), None) => return Ok(Err(UserRejection::NotFound)),
            (UserChange::Patch(patch), Some(stored)) => {
                let patched = stored.draft().patched(patch);
                patched.map_err(|error| RepositoryError::Corrupt {
                    what: "users".to_owned(),
                    source: error.into(),
                })?
            }
        };
        let faults = draft.check();
        if faults.is_empty() {
            return Ok(Ok(draft));
        }
        Ok(Err(UserRejection::Invalid(faults)))
    }
}

impl Command for SaveUser {
    type Outcome = Result<SavedUser, UserRejection>;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::User(self.user_id.clone())])
    }

    fn needs(&self, query: &mut FactsQuery) {
        let user = (self.tenant.clone(), self.user_id.clone());
        query.users.insert(user);
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let key = (self.tenant.clone(), self.user_id.clone());
        let stored = planner.facts.users.get(&key);
        let content = match self.content(stored)? {
            Ok(content) => content,
            Err(rejection) => return Ok(Planned::Rejected(Err(rejection))),
        };
        let (user, is_new) = match stored {
            None => (
                content.into_user(self.user_id.clone(), self.stamp.time),
                true,
            ),
            Some(stored) => match stored.changed_to(content, self.stamp.time) {
                Some(changed) => (changed, false),
                None => {
                    return Ok(Planned::Applied(Ok(SavedUser {
                        user: stored.clone(),
                        is_new: false,
                        committed: None,
                    })));
                }
            },
        };
        let sort_seq = planner.log(&self.tenant, &self.stamp, |position| {
            event_rows::user_updated(position, &self.user_id)
        });
        planner.rows.users.push(UserRow {
            tenant: self.tenant.clone(),
            user: user.clone(),
            sort_seq,
        });
        Ok(Planned::Applied(Ok(SavedUser {
            user,
            is_new,
            committed: Some(Committed::at(sort_seq)),
        })))
    }
}
