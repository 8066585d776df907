//! A log in memory that is slow, fails and removes events on demand.

use std::sync::{Mutex, MutexGuard};

use application::realtime::EventFilter;
use async_trait::async_trait;
use domain::{Seq, TenantId};
use ports::{
    EventLog, EventPage, EventQuery, LogBounds, LogHead, LoggedChange, LoggedEvent, RepositoryError,
};

use crate::samples::{Sample, tenant};

/// The maximum number of events that a page scans.
const SCANNED: i64 = 7;

/// A log in memory that is slow, fails and removes events on demand.
pub(crate) struct FakeLog(Mutex<State>);

struct State {
    /// All events ever appended, including the removed ones.
    events: Vec<LoggedEvent>,
    head: i64,
    first: i64,
    /// The number of next calls that fail.
    failing: u32,
    /// The number of next calls that panic.
    panicking: u32,
    /// The position of an event that cannot be read.
    corrupt: Option<Seq>,
    /// The delay of each response, in yields to other tasks.
    slowness: usize,
    pages: usize,
    /// The number of pages that are being read. `most_reading` is its maximum so far.
    reading: usize,
    most_reading: usize,
    changes: usize,
}

/// A guard that counts a page while it is being read.
struct Reading<'a>(&'a FakeLog);

impl<'a> Reading<'a> {
    fn of(log: &'a FakeLog) -> Self {
        let mut state = log.state();
        state.reading += 1;
        state.most_reading = state.most_reading.max(state.reading);
        drop(state);
        Self(log)
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.state().reading -= 1;
    }
}

impl FakeLog {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State {
            events: Vec::new(),
            head: 0,
            first: 1,
            failing: 0,
            panicking: 0,
            corrupt: None,
            slowness: 0,
            pages: 0,
            reading: 0,
            most_reading: 0,
            changes: 0,
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("nothing panics under it")
    }

    pub(crate) fn append(&self, samples: impl IntoIterator<Item = Sample>) {
        let mut state = self.state();
        for sample in samples {
            state.head += 1;
            let logged = sample.logged(state.head);
            state.events.push(logged);
        }
    }

    /// Appends this number of default events.
    pub(crate) fn grow(&self, count: usize) {
        self.append(vec![Sample::default(); count]);
    }

    /// Removes the oldest events.
    pub(crate) fn trim(&self, count: i64) {
        let mut state = self.state();
        state.first = (state.head + 1).min(state.first + count);
    }

    pub(crate) fn fail(&self, calls: u32) {
        self.state().failing = calls;
    }

    pub(crate) fn panic(&self, calls: u32) {
        self.state().panicking = calls;
    }

    pub(crate) fn panics_left(&self) -> u32 {
        self.state().panicking
    }

    /// Makes the event at this position unreadable.
    pub(crate) fn corrupt(&self, seq: Seq) {
        self.state().corrupt = Some(seq);
    }

    pub(crate) fn slow_down(&self, turns: usize) {
        self.state().slowness = turns;
    }

    pub(crate) fn head(&self) -> Seq {
        Seq(self.state().head)
    }

    pub(crate) fn first(&self) -> Seq {
        Seq(self.state().first)
    }

    /// The number of pages read so far.
    pub(crate) fn pages(&self) -> usize {
        self.state().pages
    }

    /// The maximum number of pages read at the same time.
    pub(crate) fn most_reading(&self) -> usize {
        self.state().most_reading
    }

    /// The number of reads of changes.
    pub(crate) fn changes_read(&self) -> usize {
        self.state().changes
    }

    /// The events that a reader with this filter must receive between two positions, including the
    /// removed ones.
    pub(crate) fn between(&self, filter: &EventFilter, since: Seq, next: Seq) -> Vec<LoggedEvent> {
        let state = self.state();
        let between = state
            .events
            .iter()
            .filter(|logged| logged.event.seq > since && logged.event.seq <= next);
        let shown = between.filter(|logged| filter.matches(logged));
        shown.cloned().collect()
    }

    /// Panics if the test requested it. The lock is released first, so that it is not poisoned.
    fn meet_mistakes(&self) {
        let mut state = self.state();
        let is_mistaken = state.panicking > 0;
        state.panicking = state.panicking.saturating_sub(1);
        drop(state);
        assert!(!is_mistaken, "it is to panic");
    }

    async fn is_on_its_way(&self) {
        self.meet_mistakes();
        let turns = self.state().slowness;
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
    }
}

impl State {
    fn answer(&mut self) -> Result<(), RepositoryError> {
        if self.failing == 0 {
            return Ok(());
        }
        self.failing -= 1;
        Err(RepositoryError::Unavailable("it is to fail".into()))
    }

    fn readable(&self, query: &EventQuery) -> Result<EventPage, RepositoryError> {
        let page = self.page(query);
        let is_corrupt = |logged: &LoggedEvent| Some(logged.event.seq) == self.corrupt;
        if page.events.iter().any(is_corrupt) {
            return Err(RepositoryError::Corrupt {
                what: "events.type".to_owned(),
                source: "it is to be".into(),
            });
        }
        Ok(page)
    }

    fn page(&self, query: &EventQuery) -> EventPage {
        let head = self.head;
        let (since, until) = (query.since.0, (query.since.0 + SCANNED).min(head));
        let is_outside = since + 1 < self.first || since > head;
        let is_scanned = |seq: Seq| !is_outside && seq.0 > since && seq.0 <= until;
        let scanned = self
            .events
            .iter()
            .filter(|logged| is_scanned(logged.event.seq))
            .filter(|logged| shows(query, logged));
        let events: Vec<_> = scanned.take(query.limit).cloned().collect();
        let next_since = match events.last() {
            _ if is_outside => query.since,
            Some(last) if events.len() == query.limit => last.event.seq,
            _ => Seq(until),
        };
        EventPage {
            events,
            next_since,
            first: Seq(self.first),
            head: Seq(head),
        }
    }
}

fn shows(query: &EventQuery, logged: &LoggedEvent) -> bool {
    let event = &logged.event;
    (query.types.is_empty() || query.types.contains(&event.kind))
        && (query.agent_id.is_none() || query.agent_id == event.agent_id)
        && (query.conversation_id.is_none() || query.conversation_id == event.conversation_id)
        && query
            .visibility
            .as_ref()
            .is_none_or(|view| view.shows(logged))
}

#[async_trait]
impl EventLog for FakeLog {
    async fn page(&self, of: &TenantId, query: &EventQuery) -> Result<EventPage, RepositoryError> {
        assert_eq!(*of, tenant());
        let _reading = Reading::of(self);
        self.is_on_its_way().await;
        let page = {
            let mut state = self.state();
            state.pages += 1;
            state.answer().and_then(|()| state.readable(query))
        };
        self.is_on_its_way().await;
        page
    }

    async fn count(&self, _: &TenantId, query: &EventQuery) -> Result<usize, RepositoryError> {
        Ok(self.state().page(query).events.len())
    }

    async fn bounds(&self, _: &TenantId) -> Result<LogBounds, RepositoryError> {
        let bounds = {
            let mut state = self.state();
            let bounds = LogBounds::new(Seq(state.first), Seq(state.head));
            state.answer().map(|()| bounds)
        };
        self.is_on_its_way().await;
        bounds
    }

    async fn heads(&self) -> Result<Vec<LogHead>, RepositoryError> {
        let LogBounds { head, .. } = self.bounds(&tenant()).await?;
        let tenant = tenant();
        Ok(vec![LogHead { tenant, head }])
    }

    async fn changes(
        &self,
        _: &TenantId,
        since: Seq,
        limit: usize,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        let mut state = self.state();
        state.changes += 1;
        state.answer()?;
        let first = Seq(state.first);
        let later = state
            .events
            .iter()
            .map(|logged| &logged.event)
            .filter(|event| event.seq > since && event.seq >= first);
        let changes = later.take(limit).map(|event| LoggedChange {
            seq: event.seq,
            kind: Some(event.kind),
            agent_id: event.agent_id,
            conversation_id: event.conversation_id,
            turn_id: event.turn_id,
        });
        Ok(changes.collect())
    }
}
