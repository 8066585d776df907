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
pub struct ReplyFollowers {
    readers: Mutex<HashMap<Subject, Readers>>,
    /// Subjects with a first reader that were not requested yet.
    new: Mutex<Vec<Subject>>,
    added: Notify,
}

#[derive(Default)]
struct Readers {
    number: usize,
    /// The readers that want to learn of turns that they do not know.
    inboxes: Vec<Weak<RemoteTurns>>,
}

/// The conversations of a tenant whose replies are wanted; `None` if all are.
pub(crate) type WantedConversations = Option<Vec<ConversationId>>;

impl ReplyFollowers {
    /// Follows the replies of a conversation, or of all conversations of a tenant, for as long as
    /// the result is held. `inbox` receives the turns of other nodes whose replies arrive.
    pub fn follow(
        self: &Arc<Self>,
        tenant: &TenantId,
        conversation: Option<ConversationId>,
        inbox: Option<&Arc<RemoteTurns>>,
    ) -> FollowedReplies {
        let subject = (tenant.clone(), conversation);
        let mut readers = self.readers.lock();
        let known = readers.entry(subject.clone()).or_default();
        known.number += 1;
        known.inboxes.extend(inbox.map(Arc::downgrade));
        if known.number == 1 {
            self.new.lock().push(subject.clone());
            self.added.notify_one();
        }
        FollowedReplies {
            followers: Arc::clone(self),
            subject,
        }
    }

    /// Returns whether a reader follows the replies of this conversation.
    pub(crate) fn want(&self, tenant: &TenantId, conversation: ConversationId) -> bool {
        let readers = self.readers.lock();
        subjects(tenant, conversation)
            .iter()
            .any(|subject| readers.contains_key(subject))
    }

    /// Waits for new readers, and returns the conversations whose replies they want.
    pub(crate) async fn added(&self) -> HashMap<TenantId, WantedConversations> {
        self.added.notified().await;
        grouped(take(&mut *self.new.lock()))
    }

    /// Returns all conversations whose replies are wanted.
    pub(crate) fn all(&self) -> HashMap<TenantId, WantedConversations> {
        grouped(self.readers.lock().keys().cloned())
    }

    /// Delivers a turn of another node to the readers that follow it.
    pub(crate) fn deliver(&self, turn: &RemoteTurn) {
        let subject = turn.live.subject();
        let readers = self.readers.lock();
        for subject in subjects(&subject.tenant, subject.conversation_id) {
            let inboxes = readers.get(&subject).map(|known| &known.inboxes);
            for inbox in inboxes.into_iter().flatten().filter_map(Weak::upgrade) {
                inbox.push(turn.clone());
            }
        }
    }

    fn unfollow(&self, subject: &Subject) {
        let mut readers = self.readers.lock();
        if let Some(known) = readers.get_mut(subject) {
            known.number -= 1;
            known.inboxes.retain(|inbox| inbox.strong_count() > 0);
            if known.number == 0 {
                readers.remove(subject);
            }
        }
    }
}

/// Returns the subjects that a conversation belongs to.
fn subjects(tenant: &TenantId, conversation: ConversationId) -> [Subject; 2] {
    [Some(conversation), None].map(|it| (tenant.clone(), it))
}

fn grouped(subjects: impl IntoIterator<Item = Subject>) -> HashMap<TenantId, WantedConversations> {
    let mut wanted = HashMap::new();
    for (tenant, conversation) in subjects {
        let conversations: &mut WantedConversations =
            wanted.entry(tenant).or_insert_with(|| Some(Vec::new()));
        match (conversations.as_mut(), conversation) {
            (Some(known), Some(new)) if known.len() < MAX_CONVERSATIONS => known.push(new),
            _ => *conversations = None,
        }
    }
    wanted
}

/// The replies that a reader follows until this is dropped.
pub struct FollowedReplies {
    followers: Arc<ReplyFollowers>,
    subject: Subject,
}

impl Drop for FollowedReplies {
    fn drop(&mut self) {
        self.followers.unfollow(&self.subject);
    }
}

/// A turn that another node runs, whose reply arrives.
#[derive(Clone)]
pub struct RemoteTurn {
    /// The turn.
    pub live: Arc<LiveTurn>,
    /// A position of the log after the start of the turn.
    pub position: Seq,
}

/// The turns of other nodes that a reader was not told of yet.
pub struct RemoteTurns {
    turns: Mutex<Vec<RemoteTurn>>,
    /// Notified for each turn.
    wake: Arc<Notify>,
}

impl RemoteTurns {
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

    /// Removes the turns of which the log up to `position` contains the start.
    pub fn take_up_to(&self, position: Seq) -> Vec<RemoteTurn> {
        let mut turns = self.turns.lock();
        turns
            .extract_if(.., |turn| turn.position <= position)
            .collect()
    }
}
