//! The order of commands on one socket.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
};

use domain::{ConversationId, ConversationKey, ProblemCode};
use kit::problem::ApiError;
use tokio::sync::Mutex;

use crate::frames::Channel;

/// The subject of a command. Commands on the same subject run one after the other, in the order of
/// arrival; all others run concurrently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    /// The subscription of a channel.
    Subscription(Channel),
    /// The turns of a conversation.
    Conversation(ConversationId),
    /// The turns of the conversation with the client's own name.
    NamedConversation(ConversationKey),
    /// The typing state in a conversation.
    Typing(ConversationId),
    /// The socket's own credential.
    Credential,
}

/// The order of commands on one socket.
#[derive(Default)]
pub(crate) struct CommandOrder {
    locks: RefCell<Vec<SubjectLock>>,
}

struct SubjectLock {
    subject: Subject,
    lock: Arc<Mutex<()>>,
    /// The number of commands that found the store unavailable.
    outages: Rc<Cell<u32>>,
}

impl CommandOrder {
    /// Runs `work` after all earlier work on the same subject has ended. If the store became
    /// unavailable while it waited, `work` is not tried: otherwise the timeouts of all waiting
    /// commands would add up.
    pub(super) async fn run_in_order<T>(
        &self,
        subject: Option<Subject>,
        work: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let Some(subject) = subject else {
            return work.await;
        };
        let (lock, outages) = self.entry(subject);
        let before = outages.get();
        let lock = lock.lock_owned().await;
        let outcome = if outages.get() == before {
            work.await
        } else {
            let source = "the store was unavailable for an earlier command";
            Err(ApiError::new(ProblemCode::StoreUnavailable).with_source(source))
        };
        if matches!(&outcome, Err(error) if error.code == ProblemCode::StoreUnavailable) {
            outages.set(outages.get().wrapping_add(1));
        }
        drop(lock);
        self.remove_unused();
        outcome
    }

    /// Waits until every earlier `refresh` has ended: later commands use the new credential.
    pub(super) async fn refresh_ended(&self) {
        if let Some(refresh) = self.refresh() {
            drop(refresh.lock().await);
        }
    }

    fn refresh(&self) -> Option<Arc<Mutex<()>>> {
        let locks = self.locks.borrow();
        let mut locks = locks.iter();
        let refreshing = locks.find(|entry| entry.subject == Subject::Credential)?;
        Some(Arc::clone(&refreshing.lock))
    }

    fn entry(&self, subject: Subject) -> (Arc<Mutex<()>>, Rc<Cell<u32>>) {
        let mut locks = self.locks.borrow_mut();
        let known = locks.iter().position(|entry| entry.subject == subject);
        let index = known.unwrap_or_else(|| {
            locks.push(SubjectLock {
                subject,
                lock: Arc::default(),
                outages: Rc::default(),
            });
            locks.len() - 1
        });
        let entry = &locks[index];
        (Arc::clone(&entry.lock), Rc::clone(&entry.outages))
    }

    /// Removes the locks that no command uses.
    fn remove_unused(&self) {
        let mut locks = self.locks.borrow_mut();
        locks.retain(|entry| Arc::strong_count(&entry.lock) > 1);
        if locks.is_empty() {
            *locks = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::{FutureExt as _, future::join_all};

    use super::*;

    fn unavailable() -> Result<(), ApiError> {
        Err(ApiError::new(ProblemCode::StoreUnavailable))
    }

    #[tokio::test]
    async fn commands_on_the_same_subject_wait_for_each_other_and_for_no_others() {
        let order = CommandOrder::default();
        let tenant = Some(Subject::Subscription(Channel::Tenant));
        let mut first = Box::pin(order.run_in_order(tenant.clone(), pending::<Result<(), _>>()));
        assert!((&mut first).now_or_never().is_none());
        let mut second = Box::pin(order.run_in_order(tenant, ready(Ok(()))));
        assert!((&mut second).now_or_never().is_none());
        for other in [None, Some(Subject::Credential)] {
            assert!(matches!(
                order.run_in_order(other, ready(Ok(()))).now_or_never(),
                Some(Ok(()))
            ));
        }
        drop(first);
        assert!(matches!(second.now_or_never(), Some(Ok(()))));
        assert!(order.locks.borrow().is_empty());
    }

    #[tokio::test]
    async fn commands_after_a_refresh_wait_for_it() {
        let order = CommandOrder::default();
        assert!(order.refresh_ended().now_or_never().is_some());
        let refresh = order.run_in_order(Some(Subject::Credential), pending::<Result<(), _>>());
        let mut refresh = Box::pin(refresh);
        assert!((&mut refresh).now_or_never().is_none());
        let mut after = Box::pin(order.refresh_ended());
        assert!((&mut after).now_or_never().is_none());
        drop(refresh);
        assert!(after.now_or_never().is_some());
    }

    #[tokio::test]
    async fn commands_that_waited_during_a_store_outage_are_not_tried() {
        let order = CommandOrder::default();
        let tries = Cell::new(0);
        let command = || {
            order.run_in_order(Some(Subject::Credential), async {
                tries.set(tries.get() + 1);
                tokio::task::yield_now().await;
                unavailable()
            })
        };
        let outcomes = join_all([command(), command(), command()]).await;
        for outcome in outcomes {
            assert_eq!(outcome.unwrap_err().code, ProblemCode::StoreUnavailable);
        }
        assert_eq!(tries.get(), 1);
        assert!(command().await.is_err());
        assert_eq!(tries.get(), 2, "a later command tries again");
    }
}
