//! The use cases of users: what operators store about the people who chat.

use std::sync::Arc;

use domain::{ErasureId, InputFault, Page, Principal, Seq, Stamp, User, UserDraft, cursor};
use ports::{RepositoryError, UserRepository};
use serde_json::Value;
use writes::{BeginErasure, SaveUser, SavedUser, UserChange, UserRejection};

use crate::cache::CachedPorts;

/// The use cases of users.
pub struct UserService {
    ports: CachedPorts,
    stored_users: Arc<dyn UserRepository>,
}

/// The error of a use case of users.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// Nothing is stored about the user.
    #[error("nothing is stored about the user")]
    NotFound,
    /// The user would not be valid.
    #[error("the user is not valid")]
    Invalid(Vec<InputFault>),
    /// The cursor belongs to another listing.
    #[error("not a cursor of this listing")]
    InvalidCursor,
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

impl UserService {
    /// Creates a service over these ports. `stored_users` is the repository without a cache: what is read
    /// is what is stored.
    pub const fn new(ports: CachedPorts, stored_users: Arc<dyn UserRepository>) -> Self {
        Self {
            ports,
            stored_users,
        }
    }

    /// Lists users, the one that was created last first, and returns the cursor of the next page.
    pub async fn list(
        &self,
        caller: &Principal,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<(Page<User>, Option<String>), UserError> {
        let binding = (caller.tenant.as_str(), "users");
        let after = cursor
            .map(|cursor| cursor::decode::<Seq>(&binding, cursor))
            .transpose()
            .map_err(|_invalid| UserError::InvalidCursor)?;
        let page = self.stored_users.list(&caller.tenant, after, limit).await?;
        let last = page.items.last().filter(|_| page.has_more);
        let next = last.map(|last| cursor::encode(&binding, &last.sort_seq));
        Ok((page.into_items(), next))
    }

    /// Finds what is stored about a user.
    pub async fn find(
        &self,
        caller: &Principal,
        user_id: &str,
    ) -> Result<Option<Arc<User>>, UserError> {
        let found = self.stored_users.find(&caller.tenant, user_id).await?;
        Ok(found.value)
    }

    /// Stores a user with this content.
    pub async fn put(
        &self,
        caller: &Principal,
        user_id: String,
        draft: UserDraft,
    ) -> Result<SavedUser, UserError> {
        self.save(caller, user_id, UserChange::Replace(draft)).await
    }

    /// Applies a JSON merge patch that matches its schema.
    pub async fn patch(
        &self,
        caller: &Principal,
        user_id: String,
        patch: Value,
    ) -> Result<User, UserError> {
        let saved = self.save(caller, user_id, UserChange::Patch(patch)).await?;
        Ok(saved.user)
    }

    /// Deletes what is stored about a user, and begins the erasure of all of its data. The caller withdraws the
    /// tokens of the user before.
    pub async fn erase(&self, caller: &Principal, user_id: String) -> Result<ErasureId, UserError> {
        let id = ErasureId::new(self.ports.ids.next_id());
        let begin = BeginErasure {
            tenant: caller.tenant.clone(),
            id,
            user_id,
            stamp: self.stamp(caller),
        };
        self.ports.writes.write(begin).await?;
        Ok(id)
    }

    fn stamp(&self, caller: &Principal) -> Stamp {
        Stamp {
            time: self.ports.clock.now(),
            actor: caller.id.clone(),
        }
    }

    async fn save(
        &self,
        caller: &Principal,
        user_id: String,
        change: UserChange,
    ) -> Result<SavedUser, UserError> {
        let save = SaveUser {
            tenant: caller.tenant.clone(),
            user_id,
            change,
            stamp: self.stamp(caller),
        };
        let saved = self.ports.writes.write(save).await?;
        saved.map_err(|rejection| match rejection {
            UserRejection::NotFound => UserError::NotFound,
            UserRejection::Invalid(faults) => UserError::Invalid(faults),
        })
    }
}
