//! The requests of turns to models.

use std::sync::Arc;

use domain::{FinishReason, RequestUsage, Seq, UsageKind};
use ports::{ConditionalRows, Conditions, Rows, write_store::UsageRow};
use writes::{BeginTurn, Reply, TitleConversation, TurnEnding};

use crate::{Store, fixture, log, lookup, results::ResultExt as _, setup};

/// The end of a turn with two requests to a model, of which one has reported `10 * number` tokens.
async fn end(storage: &Store, begin: &BeginTurn, number: u32) {
    let requests = requests(number);
    let ending = match number {
        1 => TurnEnding::Completed(Reply {
            usage: RequestUsage::sum(&requests),
            requests,
            ..fixture::reply(number)
        }),
        2 => TurnEnding::Failed {
            problem: fixture::lasting_problem(),
            tool_calls: Vec::new(),
            requests,
        },
        _ => {
            let partial = Reply {
                content: String::new(),
                finish_reason: FinishReason::Cancelled,
                usage: RequestUsage::sum(&requests),
                requests,
                ..fixture::reply(number)
            };
            let (tenant, stamp) = (fixture::tenant(), fixture::stamp(900));
            let turns = &storage.turns;
            let cancelled = turns.cancel_turn(&tenant, begin.turn_id, Some(partial), None, &stamp);
            cancelled.await.success();
            return;
        }
    };
    setup::finish_turn(storage, fixture::finish(begin, ending)).await;
}

fn requests(number: u32) -> Vec<RequestUsage> {
    fixture::requests(10 * i64::from(number))
}

/// Turns 1, 2 and 3 of the conversations with these numbers are completed, failed and cancelled, each
/// with the sum of what its requests reported.
pub async fn turns_that_end_together_have_their_own_usage(storage: &Store) {
    setup::node(storage, 1).await;
    let agent = setup::agent(storage, 1).await;
    let mut turns = Vec::new();
    for number in 1..=3 {
        let conversation = setup::conversation(storage, number, &agent).await;
        let begin = fixture::begin_turn(number, &agent, fixture::existing(&conversation, 0));
        setup::start_turn(storage, &begin).await;
        turns.push(begin);
    }
    futures::join!(
        end(storage, &turns[0], 1),
        end(storage, &turns[1], 2),
        end(storage, &turns[2], 3),
    );
    for (begin, number) in turns.iter().zip(1..) {
        let expected = RequestUsage::sum(&requests(number));
        let turn = lookup::turn(storage, begin.turn_id).await;
        let turn = turn.expect("the turn exists");
        assert_eq!((turn.usage, number > 1), (expected, turn.reply.is_none()));
        let messages = lookup::messages(storage, begin.target.id()).await;
        let of_reply = messages.get(1).map(|reply| reply.usage);
        assert_eq!(of_reply, (number == 1).then_some(expected));
    }
}

/// Turn 1 of conversation 1 has two requests, and so have the title after it, and a title that a conversation did
/// not get: 2, since its engine has failed, 3, since it had one, and 4, since it was deleted.
pub async fn requests_for_titles_are_stored_with_and_without_a_title(storage: &Store) {
    setup::node(storage, 1).await;
    let agent = setup::agent(storage, 1).await;
    let first = setup::conversation(storage, 1, &agent).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&first, 0));
    setup::start_turn(storage, &begin).await;
    end(storage, &begin, 1).await;
    for number in 1..=4 {
        let conversation = match number {
            1 => first.clone(),
            _ => setup::conversation(storage, number, &agent).await,
        };
        let found = match number {
            3 => {
                setup::update_conversation(storage, &fixture::retitled(&conversation, "Orders"))
                    .await
            }
            _ => conversation,
        };
        if number == 4 {
            setup::delete_conversation(storage, &found).await;
        }
        let command = TitleConversation {
            title: (number != 2).then(|| "By a model".to_owned()),
            requests: fixture::requests(5),
            ..fixture::title_conversation(number, &found)
        };
        let written = storage.writes.write(command).await.success();
        assert_eq!(written.is_some(), number == 1, "{number}");
    }
}

/// A request that is written again stays as it is.
pub async fn a_request_to_a_model_is_written_once(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let tenant = fixture::tenant();
    for at in [10, 20] {
        let head = log::head(storage, &tenant).await;
        let row = |request| UsageRow {
            tenant: tenant.clone(),
            turn_id: fixture::turn_id(1),
            kind: UsageKind::Chat,
            agent_id: agent.id,
            agent_version: Some(1),
            conversation_id: conversation.id,
            user_id: conversation.user_id.clone(),
            principal: fixture::principal(),
            request,
            at: fixture::at(at),
        };
        let write = ConditionalRows {
            writes: 1,
            conditions: Conditions {
                heads: [(tenant.clone(), head)].into(),
                ..Conditions::default()
            },
            rows: Rows {
                usage: requests(1).into_iter().map(row).collect(),
                heads: vec![(tenant.clone(), Seq(head.0 + 1))],
                ..Rows::default()
            },
        };
        let written = storage.ports().writes.write_if(Arc::new(write)).await;
        assert!(written.expect("the store responds"));
    }
}
