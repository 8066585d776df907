//! The readers of live replies in this process.

use std::{
    collections::HashMap,
    mem::take,
    sync::{Arc, Weak},
};

use domain::{ConversationId, Seq, TenantId};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::LiveTurn;

/// The maximum number of conversations of a tenant that are requested one by one. With more, the
/// replies of the whole tenant are requested.
const MAX_CONVERSATIONS: usize = 256;

/// A conversation, or all conversations of a tenant (`None`).
type Subject = (TenantId, Option<ConversationId>);

/// The readers of live replies in this process, by conversation. The replies of turns that other
/// nodes run are requested for them.
#[derive(Default)]
pub struct ReplyReaders {
    readers: Mutex<HashMap<Subject, Readers>>,
    /// Subjects with a first reader that were not requested yet.
    new: Mutex<Vec<Subject>>,
    added: Notify,
}

#[derive(Default)]
struct Readers {
    number: usize,
    /// The readers that want to learn of turns that they do not know.
    inboxes: Vec<Weak<RemoteTurnInbox>>,
}

/// The conversations of a tenant whose replies are wanted; `None` if all are.
pub(crate) type RequestedConversations = Option<Vec<ConversationId>>;

impl ReplyReaders {
    /// Follows the replies of a conversation, or of all conversations of a tenant, for as long as
    /// the result is held. `inbox` receives the turns of other nodes whose replies arrive.
    pub fn follow(
        self: &Arc<Self>,
        tenant: &TenantId,
        conversation: Option<ConversationId>,
        inbox: Option<&Arc<RemoteTurnInbox>>,
    ) -> ReaderGuard {
        let subject = (tenant.clone(), conversation);
        let mut readers = self.readers.lock();
        let known = readers.entry(subject.clone()).or_default();
        known.number += 1;
        known.inboxes.extend(inbox.map(Arc::downgrade));
        let is_first = known.number == 1;
        if is_first && !(conversation.is_some() && readers.contains_key(&(tenant.clone(), None))) {
            self.new.lock().push(subject.clone());
            self.added.notify_one();
        }
        drop(readers);
        ReaderGuard {
            readers: Arc::clone(self),
            subject,
            inbox: inbox.map(Arc::downgrade),
        }
    }

    /// Returns whether a reader follows the replies of this conversation.
    pub(crate) fn has_reader(&self, tenant: &TenantId, conversation: ConversationId) -> bool {
        let readers = self.readers.lock();
        subjects(tenant, conversation)
            .iter()
            .any(|subject| readers.contains_key(subject))
    }

    /// Waits for new readers, and returns the conversations whose replies they want.
    pub(crate) async fn added(&self) -> HashMap<TenantId, RequestedConversations> {
        self.added.notified().await;
        grouped(take(&mut *self.new.lock()))
    }

    /// Returns all conversations whose replies are wanted.
    pub(crate) fn all(&self) -> HashMap<TenantId, RequestedConversations> {
        grouped(self.readers.lock().keys().cloned())
    }

    /// Delivers a turn of another node to the readers that follow it; the log up to `position`
    /// contains its start.
    pub(crate) fn deliver(&self, live: &Arc<LiveTurn>, position: Seq) {
        let subject = live.subject();
        let readers = self.readers.lock();
        for subject in subjects(&subject.tenant, subject.conversation_id) {
            let inboxes = readers.get(&subject).map(|known| &known.inboxes);
            for inbox in inboxes.into_iter().flatten().filter_map(Weak::upgrade) {
                inbox.push(RemoteTurn {
                    live: Arc::downgrade(live),
                    position,
                });
            }
        }
    }

    fn remove(&self, subject: &Subject, inbox: Option<&Weak<RemoteTurnInbox>>) {
        let mut readers = self.readers.lock();
        let Some(known) = readers.get_mut(subject) else {
            return;
        };
        known.number -= 1;
        let is_removed = |it: &Weak<RemoteTurnInbox>| inbox.is_some_and(|inbox| it.ptr_eq(inbox));
        if let Some(index) = known.inboxes.iter().position(is_removed) {
            known.inboxes.swap_remove(index);
        }
        if known.number == 0 {
            readers.remove(subject);
        }
    }
}

/// Returns the subjects that a conversation belongs to.
fn subjects(tenant: &TenantId, conversation: ConversationId) -> [Subject; 2] {
    [Some(conversation), None].map(|it| (tenant.clone(), it))
}

fn grouped(
    subjects: impl IntoIterator<Item = Subject>,
) -> HashMap<TenantId, RequestedConversations> {
    let mut wanted = HashMap::new();
    for (tenant, conversation) in subjects {
        let conversations: &mut RequestedConversations =
            wanted.entry(tenant).or_insert_with(|| Some(Vec::new()));
        match (conversations.as_mut(), conversation) {
            (Some(known), Some(new)) if known.len() < MAX_CONVERSATIONS => known.push(new),
            _ => *conversations = None,
        }
    }
    wanted
}

/// A reader, which follows replies until this is dropped.
pub struct ReaderGuard {
    readers: Arc<ReplyReaders>,
    subject: Subject,
    inbox: Option<Weak<RemoteTurnInbox>>,
}

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        self.readers.remove(&self.subject, self.inbox.as_ref());
    }
}

/// A turn that another node runs, whose reply arrives.
struct RemoteTurn {
    /// The turn, which the receiver of replies holds until it ends.
    live: Weak<LiveTurn>,
    /// A position of the log after the start of the turn.
    position: Seq,
}

/// Turns of other nodes that a reader has not joined yet.
pub struct RemoteTurnInbox {
    turns: Mutex<Vec<RemoteTurn>>,
    /// Notified for each turn.
    wake: Arc<Notify>,
}

impl RemoteTurnInbox {
    /// Creates an empty inbox. `wake` is notified when a turn arrives.
    pub fn new(wake: Arc<Notify>) -> Self {
        Self {
            turns: Mutex::default(),
            wake,
        }
    }

    fn push(&self, turn: RemoteTurn) {
        self.turns.lock().push(turn);
        self.wake.notify_one();
    }

    /// Removes and returns the turns that started at or before `position`.
    pub fn take_up_to(&self, position: Seq) -> Vec<Arc<LiveTurn>> {
        let mut turns = self.turns.lock();
        let taken = turns.extract_if(.., |turn| turn.position <= position);
        taken.filter_map(|turn| turn.live.upgrade()).collect()
    }
}
