//! `TurnRepository::scan`: the number of turns at which it looks.

use std::{ops::RangeInclusive, sync::Arc, time::Duration};

use domain::{Seq, Turn};
use ports::{
    Decided, Decision, Facts, FactsQuery, Lane, Rows, SCAN_LENGTH, TurnConditions, TurnPosition,
    TurnScan, WaitingFor,
    write_store::{TurnRow, TurnWait},
};

use crate::{
    Store, fixture, lookup, staff_decisions::undecided, turn_scans::page, waiting_turns::far,
};

/// Writes rows, whatever is stored.
struct Written<F>(F);

impl<F: Fn() -> Rows + Send + Sync> Decision for Written<F> {
    fn decide(&self, round: usize, _: &Facts) -> Decided {
        if round > 0 {
            return Decided::Write(self.0());
        }
        Decided::Read(FactsQuery {
            tenants: [fixture::tenant()].into(),
            ..FactsQuery::default()
        })
    }
}

async fn write(storage: &Store, rows: impl Fn() -> Rows + Send + Sync + 'static) {
    let writes = &storage.ports().writes;
    let written = writes.transact(Arc::new(Written(rows)), Lane::Alone).await;
    assert!(written.is_ok());
}

/// The numbers of turns of which one scan looks at all but the first five.
fn numbers() -> RangeInclusive<u32> {
    1..=u32::try_from(SCAN_LENGTH).expect("a small number") + 5
}

/// A copy of a turn that has completed.
fn copy(number: u32, turn: &Turn) -> TurnRow {
    TurnRow {
        tenant: fixture::tenant(),
        turn: Turn {
            id: fixture::turn_id(number),
            ..turn.clone()
        },
        principal: fixture::principal(),
        message_id: fixture::message_id(1),
        reuses_message: true,
        is_for_staff: false,
        reply_id: None,
        sort_seq: Seq(1_000 + i64::from(number)),
        message_seq: Some(1),
        turn_number: Some(i64::from(number)),
        reply_seq: None,
        node: None,
        queued_seq: None,
        idempotency: None,
        level: None,
        action_expires_at: None,
        client_tools: Vec::new(),
        response_schema: None,
    }
}

/// A page of `wanted`, a condition that only the first turn meets, looks at 10,000 turns, and can be empty although
/// others follow.
async fn assert_bounded(storage: &Store, wanted: TurnConditions) {
    let all = TurnConditions {
        to: None,
        ..wanted.clone()
    };
    let mut scan = TurnScan {
        conditions: wanted,
        before: None,
        limit: 100,
    };
    let empty = page(storage, &scan).await;
    let next = TurnPosition {
        sort_seq: Seq(1_006),
        id: fixture::turn_id(6),
    };
    assert_eq!((empty.items.len(), empty.next), (0, Some(next)));
    scan.before = empty.next;
    let last = page(storage, &scan).await;
    assert_eq!((last.items.len(), last.next), (1, None));
    scan.conditions = all;
    scan.before = None;
    let full = page(storage, &scan).await;
    assert_eq!(full.items.len(), 100);
    let next = full.next.map(|next| next.id);
    assert_eq!(next, Some(fixture::turn_id(9_906)));
}

/// The number of turns at which a scan looks is bounded, also of those that wait.
pub async fn a_scan_looks_at_a_bounded_number_of_turns(storage: &Store) {
    let begin = undecided(storage, far()).await;
    let first = lookup::turn(storage, begin.turn_id).await;
    let first = first.expect("the turn is kept");
    let later = first.created_at + Duration::from_millis(1);
    let (copied, calls) = (first.clone(), first.tool_calls);
    let copied = Turn {
        created_at: later,
        ..copied
    };
    write(storage, move || Rows {
        turns: numbers().skip(1).map(|it| copy(it, &copied)).collect(),
        ..Rows::default()
    })
    .await;
    let early = TurnConditions {
        to: Some(later),
        ..TurnConditions::default()
    };
    assert_bounded(storage, early.clone()).await;
    let wait = move |number| TurnWait {
        reasoning: None,
        tenant: fixture::tenant(),
        id: fixture::turn_id(number),
        reply_seq: None,
        tool_calls: calls.clone(),
        expires_at: Some(far()),
    };
    write(storage, move || Rows {
        waits: numbers().skip(1).map(&wait).collect(),
        ..Rows::default()
    })
    .await;
    let waiting = TurnConditions {
        waiting_for: Some(WaitingFor::Staff),
        ..early
    };
    assert_bounded(storage, waiting).await;
}
