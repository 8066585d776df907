//! Which commands of one socket wait for each other.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
};

use domain::{ConversationId, ProblemCode};
use tokio::sync::Mutex;

use crate::{problem::ApiError, socket::frames::Channel};

/// What commands are about that are carried out one after the other, in the order in which they
/// came. All others wait for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// Whether a channel is followed, and from where on.
    Following(Channel),
    /// The turns of a conversation.
    Chatting(ConversationId),
    /// Whether somebody types in a conversation.
    Typing(ConversationId),
    /// The socket's own credential.
    Refreshing,
}

/// Which commands of one socket wait for each other.
#[derive(Default)]
pub(in crate::socket) struct Order {
    lanes: RefCell<Vec<Lane>>,
}

struct Lane {
    subject: Subject,
    turn: Arc<Mutex<()>>,
    /// How often a command met an absent store.
    outages: Rc<Cell<u32>>,
}

impl Order {
    /// Carries something out when all that came before it about the same subject has ended; when
    /// that found the store away it is not tried, or the patience of all that wait would add up.
    pub(super) async fn keep<T>(
        &self,
        subject: Option<Subject>,
        work: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let Some(subject) = subject else {
            return work.await;
        };
        let (turn, outages) = self.enter(subject);
        let before = outages.get();
        let turn = turn.lock_owned().await;
        let outcome = if outages.get() == before {
            work.await
        } else {
            let source = "a command before this one found the store away";
            Err(ApiError::new(ProblemCode::StoreUnavailable).because(source))
        };
        if matches!(&outcome, Err(error) if error.code == ProblemCode::StoreUnavailable) {
            outages.set(outages.get().wrapping_add(1));
        }
        drop(turn);
        self.tidy();
        outcome
    }

    /// Waits until the socket's credential is the one that came last: what follows a `refresh` is
    /// judged by it.
    pub(super) async fn refreshed(&self) {
        if let Some(refresh) = self.refresh() {
            drop(refresh.lock().await);
        }
    }

    fn refresh(&self) -> Option<Arc<Mutex<()>>> {
        let lanes = self.lanes.borrow();
        let mut lanes = lanes.iter();
        let refreshing = lanes.find(|lane| lane.subject == Subject::Refreshing)?;
        Some(Arc::clone(&refreshing.turn))
    }

    fn enter(&self, subject: Subject) -> (Arc<Mutex<()>>, Rc<Cell<u32>>) {
        let mut lanes = self.lanes.borrow_mut();
        let known = lanes.iter().position(|lane| lane.subject == subject);
        let place = known.unwrap_or_else(|| {
            lanes.push(Lane {
                subject,
                turn: Arc::default(),
                outages: Rc::default(),
            });
            lanes.len() - 1
        });
        let lane = &lanes[place];
        (Arc::clone(&lane.turn), Rc::clone(&lane.outages))
    }

    /// Forgets what nobody is about any more.
    fn tidy(&self) {
        let mut lanes = self.lanes.borrow_mut();
        lanes.retain(|lane| Arc::strong_count(&lane.turn) > 1);
        if lanes.is_empty() {
            *lanes = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::{FutureExt as _, future::join_all};

    use super::*;

    fn away() -> Result<(), ApiError> {
        Err(ApiError::new(ProblemCode::StoreUnavailable))
    }

    #[tokio::test]
    async fn those_about_the_same_wait_for_each_other_and_for_nobody_else() {
        let order = Order::default();
        let tenant = Some(Subject::Following(Channel::Tenant));
        let mut first = Box::pin(order.keep(tenant, pending::<Result<(), _>>()));
        assert!((&mut first).now_or_never().is_none());
        let mut second = Box::pin(order.keep(tenant, ready(Ok(()))));
        assert!((&mut second).now_or_never().is_none());
        for other in [None, Some(Subject::Refreshing)] {
            assert!(matches!(
                order.keep(other, ready(Ok(()))).now_or_never(),
                Some(Ok(()))
            ));
        }
        drop(first);
        assert!(matches!(second.now_or_never(), Some(Ok(()))));
        assert!(order.lanes.borrow().is_empty());
    }

    #[tokio::test]
    async fn who_comes_behind_a_refresh_waits_for_it() {
        let order = Order::default();
        assert!(order.refreshed().now_or_never().is_some());
        let refresh = order.keep(Some(Subject::Refreshing), pending::<Result<(), _>>());
        let mut refresh = Box::pin(refresh);
        assert!((&mut refresh).now_or_never().is_none());
        let mut behind = Box::pin(order.refreshed());
        assert!((&mut behind).now_or_never().is_none());
        drop(refresh);
        assert!(behind.now_or_never().is_some());
    }

    #[tokio::test]
    async fn those_who_waited_while_another_found_the_store_away_do_not_try() {
        let order = Order::default();
        let tries = Cell::new(0);
        let command = || {
            order.keep(Some(Subject::Refreshing), async {
                tries.set(tries.get() + 1);
                tokio::task::yield_now().await;
                away()
            })
        };
        let outcomes = join_all([command(), command(), command()]).await;
        for outcome in outcomes {
            assert_eq!(outcome.unwrap_err().code, ProblemCode::StoreUnavailable);
        }
        assert_eq!(tries.get(), 1);
        assert!(command().await.is_err());
        assert_eq!(tries.get(), 2, "who comes later tries anew");
    }
}
