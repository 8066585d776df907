//! The conversations whose live replies the readers of a far node want.

use std::{collections::HashMap, time::Duration};

use domain::{ConversationId, TenantId};
use tokio::time::Instant;

/// The time for which a request counts. It is repeated every five seconds.
const REQUESTED_FOR: Duration = Duration::from_secs(15);
/// The number of conversations at which those are removed that are no longer wanted.
const REMOVE_AT: usize = 1_024;

/// The conversations whose live replies the readers of a far node want.
#[derive(Debug, Default)]
pub(crate) struct Interest {
    /// By tenant and conversation, when each ends; without a conversation, all of the tenant.
    until: HashMap<(TenantId, Option<ConversationId>), Instant>,
    remove_at: usize,
}

impl Interest {
    /// Records a request for the replies of conversations; `None` for all of the tenant.
    pub(crate) fn add(&mut self, tenant: &TenantId, conversations: Option<&[ConversationId]>) {
        let now = Instant::now();
        if self.until.len() >= self.remove_at.max(REMOVE_AT) {
            self.until.retain(|_, until| *until > now);
            self.remove_at = self.until.len() * 2;
        }
        let until = now + REQUESTED_FOR;
        let Some(conversations) = conversations else {
            self.until.insert((tenant.clone(), None), until);
            return;
        };
        for conversation in conversations {
            let key = (tenant.clone(), Some(*conversation));
            self.until.insert(key, until);
        }
    }

    /// Returns true if the replies of a conversation are wanted.
    pub(crate) fn includes(&self, tenant: &TenantId, conversation: ConversationId) -> bool {
        let now = Instant::now();
        let wanted = |conversation| {
            let until = self.until.get(&(tenant.clone(), conversation));
            until.is_some_and(|until| *until > now)
        };
        wanted(None) || wanted(Some(conversation))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn conversation(number: u128) -> ConversationId {
        ConversationId::new(Uuid::from_u128(number))
    }

    #[tokio::test(start_paused = true)]
    async fn interest_covers_what_was_requested_and_ends() {
        let (a, b): (TenantId, TenantId) = ("a".parse().unwrap(), "b".parse().unwrap());
        let mut interest = Interest::default();
        interest.add(&a, Some(&[conversation(1)]));
        interest.add(&b, None);
        assert!(interest.includes(&a, conversation(1)));
        assert!(!interest.includes(&a, conversation(2)));
        assert!(interest.includes(&b, conversation(2)));
        tokio::time::advance(REQUESTED_FOR / 2).await;
        interest.add(&b, None);
        tokio::time::advance(REQUESTED_FOR / 2).await;
        assert!(!interest.includes(&a, conversation(1)));
        assert!(interest.includes(&b, conversation(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn ended_interest_is_forgotten() {
        let tenant: TenantId = "a".parse().unwrap();
        let mut interest = Interest::default();
        for number in 0..10_000 {
            interest.add(&tenant, Some(&[conversation(number)]));
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        assert!(
            interest.until.len() <= REMOVE_AT,
            "{}",
            interest.until.len()
        );
    }
}
