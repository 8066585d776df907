//! How many events a follower takes in hand at once.

use std::sync::Arc;

use super::FedEvent;

/// Events of the first page.
const FIRST: usize = 25;
/// Events of any page.
const MOST: usize = 100;
/// What a page should take, as JSON. A follower whose client does not read holds one page.
const BYTES: usize = 256 * 1024;

/// How many events a follower takes in hand at once: as many as are not too large together, by
/// what the last ones took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize(usize);

impl Default for PageSize {
    fn default() -> Self {
        Self(FIRST)
    }
}

impl PageSize {
    /// So many.
    pub fn events(self) -> usize {
        self.0
    }

    /// Learns from a page how large events are. Large ones are believed at once, small ones
    /// little by little.
    pub fn learn(&mut self, page: &[Arc<FedEvent>]) {
        let bytes: usize = page.iter().map(|event| event.json.len()).sum();
        if let Some(fitting) = (page.len() * BYTES).checked_div(bytes) {
            self.0 = fitting.clamp(1, MOST.min(2 * self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{AgentId, Event, EventData, EventType, PrincipalId, Seq, TenantId, Timestamp};
    use ports::LoggedEvent;
    use uuid::Uuid;

    use super::*;

    /// An event that takes so much.
    fn event(bytes: usize) -> Arc<FedEvent> {
        let event = Event {
            seq: Seq(1),
            id: Uuid::nil(),
            kind: EventType::AgentUpdated,
            time: Timestamp::from_milliseconds(0),
            tenant_id: TenantId::DEFAULT.parse().unwrap(),
            agent_id: Some(AgentId::new(Uuid::nil())),
            conversation_id: None,
            user_id: None,
            turn_id: None,
            actor: PrincipalId::new("system"),
            data: EventData::DELETED,
        };
        Arc::new(FedEvent {
            json: "x".repeat(bytes).into(),
            logged: LoggedEvent { event, asker: None },
        })
    }

    fn learned(mut size: PageSize, page: &[usize]) -> usize {
        let page: Vec<_> = page.iter().copied().map(event).collect();
        size.learn(&page);
        size.events()
    }

    #[test]
    fn a_page_of_large_events_is_followed_by_a_small_one() {
        assert_eq!(learned(PageSize(100), &[64 * 1024; 10]), 4);
        assert_eq!(learned(PageSize(25), &[2 * 1024 * 1024]), 1);
    }

    #[test]
    fn pages_of_small_events_grow_step_by_step() {
        let mut size = PageSize::default();
        let mut sizes = vec![size.events()];
        for _ in 0..3 {
            size.learn(&[event(100)]);
            sizes.push(size.events());
        }
        assert_eq!(sizes, [25, 50, 100, 100]);
        assert_eq!(learned(PageSize(1), &[100]), 2);
    }

    #[test]
    fn a_page_without_events_teaches_nothing() {
        assert_eq!(learned(PageSize(7), &[]), 7);
    }
}
