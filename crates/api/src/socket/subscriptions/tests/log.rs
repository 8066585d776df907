//! A log in memory, and a socket's subscriptions to it.

use std::sync::{Arc, Mutex, MutexGuard};

use application::realtime::{EventFilter, Feed, LogReader, Tail};
use async_trait::async_trait;
use domain::{
    AgentId, ConversationId, Event, EventData, EventType, PrincipalId, Seq, TenantId, Timestamp,
    TurnId,
};
use ports::{
    EventLog, EventPage, EventQuery, EventVisibility, LogHead, LoggedChange, LoggedEvent,
    RepositoryError,
};
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::super::*;
use crate::socket::{frames::ResyncReason, reading::read};

pub(super) fn agent(number: u8) -> AgentId {
    AgentId::new(Uuid::from_u128(0xa0 + u128::from(number)))
}

pub(super) fn conversation(number: u8) -> ConversationId {
    ConversationId::new(Uuid::from_u128(0xc0 + u128::from(number)))
}

pub(super) fn turn(number: u8) -> TurnId {
    TurnId::new(Uuid::from_u128(0xf0 + u128::from(number)))
}

fn tenant() -> TenantId {
    TenantId::DEFAULT.parse().unwrap()
}

/// What an event speaks of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) kind: EventType,
    pub(super) agent: u8,
    pub(super) conversation: Option<u8>,
    pub(super) turn: Option<u8>,
}

/// An agent changed.
pub(super) fn update_of(agent: u8) -> Sample {
    Sample {
        kind: EventType::AgentUpdated,
        agent,
        conversation: None,
        turn: None,
    }
}

/// A turn in a conversation with agent 0.
pub(super) fn turn_event(kind: EventType, conversation: u8, turn: u8) -> Sample {
    Sample {
        kind,
        agent: 0,
        conversation: Some(conversation),
        turn: Some(turn),
    }
}

fn logged(seq: i64, sample: Sample) -> LoggedEvent {
    LoggedEvent {
        asker: None,
        event: Event {
            seq: Seq(seq),
            id: Uuid::nil(),
            kind: sample.kind,
            time: Timestamp::from_milliseconds(seq),
            tenant_id: tenant(),
            agent_id: Some(agent(sample.agent)),
            conversation_id: sample.conversation.map(conversation),
            user_id: None,
            turn_id: sample.turn.map(turn),
            actor: PrincipalId::new("system"),
            data: EventData::DELETED,
        },
    }
}

#[derive(Default)]
struct State {
    events: Vec<LoggedEvent>,
    /// So many of the oldest are gone.
    trimmed: usize,
}

/// A log in memory.
#[derive(Default)]
struct MemoryLog(Mutex<State>);

impl MemoryLog {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    fn seen(&self) -> (Seq, Seq) {
        let state = self.state();
        let number = |count: usize| i64::try_from(count).unwrap();
        (
            Seq(number(state.trimmed) + 1),
            Seq(number(state.events.len())),
        )
    }
}

#[async_trait]
impl EventLog for MemoryLog {
    async fn page(&self, _: &TenantId, query: &EventQuery) -> Result<EventPage, RepositoryError> {
        let (first, head) = self.seen();
        let filter = EventFilter {
            types: query.types.clone(),
            agent_id: query.agent_id,
            conversation_id: query.conversation_id,
            visibility: query.visibility.clone().unwrap_or_else(everything),
        };
        let is_held = query.since.plus(1) >= first && query.since <= head;
        let since = usize::try_from(query.since.0).unwrap();
        let state = self.state();
        let kept = state
            .events
            .iter()
            .skip(if is_held { since } else { usize::MAX });
        let events: Vec<_> = kept
            .filter(|event| filter.matches(event))
            .take(query.limit)
            .cloned()
            .collect();
        let next_since = match events.last() {
            Some(last) if events.len() == query.limit => last.event.seq,
            _ => head,
        };
        Ok(EventPage {
            events,
            next_since,
            first,
            head,
        })
    }

    async fn bounds(&self, _: &TenantId) -> Result<(Seq, Seq), RepositoryError> {
        Ok(self.seen())
    }

    async fn heads(&self) -> Result<Vec<LogHead>, RepositoryError> {
        let (tenant, head) = (tenant(), self.seen().1);
        Ok(vec![LogHead { tenant, head }])
    }

    async fn changes(
        &self,
        _: &TenantId,
        _: Seq,
        _: usize,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        unreachable!("caches are not tested here")
    }
}

/// Who may see everything.
pub(super) fn everything() -> EventVisibility {
    EventVisibility {
        agents: true,
        conversations: true,
        principal: PrincipalId::new("ada"),
        user_id: None,
    }
}

/// What a client was told.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Told {
    Event(Vec<Channel>, i64),
    CaughtUp(Channel, i64),
    Resync(Channel, i64, i64, ResyncReason),
    Deleted(Channel),
}

impl From<Word<'_>> for Told {
    fn from(word: Word<'_>) -> Self {
        match word {
            Word::Event(channels, event) => Self::Event(channels.to_vec(), event.seq.0),
            Word::CaughtUp(channel, seq) => Self::CaughtUp(channel, seq.0),
            Word::Resync {
                channel,
                first,
                head,
                reason,
            } => Self::Resync(channel, first.0, head.0, reason),
            Word::Deleted(channel) => Self::Deleted(channel),
        }
    }
}

/// A socket's subscriptions, and what its client was told.
pub(super) struct World {
    log: Arc<MemoryLog>,
    feed: Arc<Feed>,
    reader: LogReader,
    pub(super) tail: Arc<Tail>,
    pub(super) subscriptions: Subscriptions,
    pub(super) visibility: EventVisibility,
    pub(super) told: Vec<Told>,
    _stop: tokio_util::sync::DropGuard,
}

impl World {
    /// Over a log that holds so much when the first one listens.
    pub(super) async fn after(samples: impl IntoIterator<Item = Sample>) -> Self {
        let log = Arc::new(MemoryLog::default());
        let numbered = (1..).zip(samples);
        log.state().events = numbered.map(|(seq, it)| logged(seq, it)).collect();
        let stop = CancellationToken::new();
        let events: Arc<dyn EventLog> = Arc::clone(&log) as _;
        let feed = Feed::new(
            Arc::clone(&events),
            TaskTracker::new(),
            Handle::current(),
            stop.clone(),
        );
        let feed = Arc::new(feed);
        let tail = feed.tail(&tenant()).await.unwrap();
        Self {
            reader: LogReader::new(Arc::clone(&feed), events),
            log,
            feed,
            tail,
            subscriptions: Subscriptions::default(),
            visibility: everything(),
            told: Vec::new(),
            _stop: stop.drop_guard(),
        }
    }

    /// Where the log stands.
    pub(super) fn head(&self) -> Seq {
        self.log.seen().1
    }

    /// Adds to the log, and waits until that was read.
    pub(super) async fn append(&self, samples: impl IntoIterator<Item = Sample>) {
        for sample in samples {
            let seq = self.head().plus(1).0;
            self.log.state().events.push(logged(seq, sample));
        }
        let head = self.head();
        self.feed.note_head(&tenant(), head);
        let mut positions = self.tail.positions();
        let read = positions.wait_for(|position| *position >= head);
        read.await.unwrap();
    }

    /// Removes the oldest.
    pub(super) fn trim(&self, count: usize) {
        self.log.state().trimmed += count;
    }

    /// Follows a channel from now on, or from a position on.
    pub(super) fn open(&mut self, channel: Channel, since: Option<i64>) {
        let head = self.tail.position();
        self.subscriptions.open(channel, None, since.map(Seq), head);
    }

    pub(super) fn tell_news(&mut self) {
        let (told, visibility) = (&mut self.told, &self.visibility);
        self.subscriptions
            .tell_news(&self.tail, visibility, &mut |word| {
                told.push(word.into());
                Ok(())
            })
            .unwrap();
    }

    /// Tells so many words of the past.
    pub(super) fn tell_past(&mut self, room: usize) {
        let told = std::cell::RefCell::new(&mut self.told);
        let before = told.borrow().len();
        let has_room = || told.borrow().len() - before < room;
        self.subscriptions
            .tell_past(has_room, &mut |word| {
                told.borrow_mut().push(word.into());
                Ok(())
            })
            .unwrap();
    }

    /// Reads what is wanted.
    pub(super) async fn page(&self, wanted: &Wanted) -> Page {
        read(&self.reader, &self.tail, &self.visibility, wanted).await
    }

    pub(super) fn take_in(&mut self, wanted: Wanted, page: Page) {
        let told = &mut self.told;
        self.subscriptions
            .take_in(wanted, page, &mut |word| {
                told.push(word.into());
                Ok(())
            })
            .unwrap();
    }

    /// Tells everything that there is to tell.
    pub(super) async fn settle(&mut self) {
        loop {
            self.tell_past(usize::MAX);
            self.tell_news();
            let Some(wanted) = self.subscriptions.next_wanted() else {
                return;
            };
            let page = self.page(&wanted).await;
            self.take_in(wanted, page);
        }
    }

    /// What was told since the last time.
    pub(super) fn heard(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    /// The positions that a channel was told of.
    pub(super) fn told_to(told: &[Told], channel: Channel) -> Vec<i64> {
        let seqs = told.iter().filter_map(|it| match it {
            Told::Event(channels, seq) if channels.contains(&channel) => Some(*seq),
            _ => None,
        });
        seqs.collect()
    }
}
