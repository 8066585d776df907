//! `ConversationRepository::messages`: pages in both directions.

use domain::{Agent, Conversation, Message, MessageError, ProblemCode, Role, TurnStatus};
use ports::{ListingOrder, MessageQuery};
use writes::Reply;

use crate::{Store, fixture, lookup, results::ResultExt as _, setup};

async fn page(
    storage: &Store,
    conversation: &Conversation,
    order: ListingOrder,
    after: Option<i64>,
    limit: usize,
) -> (Vec<Message>, bool) {
    let query = MessageQuery {
        order,
        after,
        limit,
        with_superseded: false,
    };
    listed(storage, conversation, &query).await
}

async fn listed(
    storage: &Store,
    conversation: &Conversation,
    query: &MessageQuery,
) -> (Vec<Message>, bool) {
    let tenant = fixture::tenant();
    let result = storage
        .conversations
        .messages(&tenant, conversation.id, query)
        .await;
    let page = result.success().value.expect("the conversation exists");
    (page.items, page.has_more)
}

fn positions(messages: &[Message]) -> Vec<i64> {
    messages.iter().map(|message| message.seq).collect()
}

/// Records numbered turns in conversation 1, which exists.
async fn record_turns(storage: &Store, numbers: std::ops::Range<u32>) -> (Agent, Conversation) {
    let (agent, conversation) = (
        fixture::agent(1),
        fixture::conversation(1, fixture::agent_id(1)),
    );
    for number in numbers {
        let target = fixture::existing(&conversation, i64::from(number));
        let turn = fixture::completed_turn(number, &agent, target);
        setup::record_turn(storage, turn).await;
    }
    (agent, conversation)
}

/// Every member of a message is stored, for user and agent.
pub async fn messages_are_stored_with_every_member(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let mut turn = fixture::completed_turn(7, &agent, fixture::existing(&conversation, 0));
    turn.finished_at = fixture::at(99);
    turn.begin.client_message_id = Some("page-7!".to_owned());
    turn.reply.finish_reason = domain::FinishReason::Length;
    turn.reply.tool_calls = vec![fixture::tool_call()];
    turn.reply.usage = Some(domain::Usage {
        input_tokens: 12,
        output_tokens: 3_000_000_000,
        ..domain::Usage::default()
    });
    setup::record_turn(storage, turn.clone()).await;
    let user = Message {
        id: turn.begin.message_id,
        conversation_id: conversation.id,
        turn_id: Some(turn.begin.turn_id),
        seq: 1,
        role: Role::User,
        content: turn.begin.input,
        files: Vec::new(),
        created_at: fixture::at(7),
        author: None,
        engine: None,
        model: None,
        agent_version: None,
        finish_reason: None,
        output: None,
        repaired: false,
        usage: None,
        client_message_id: turn.begin.client_message_id,
        turn_status: Some(TurnStatus::Completed),
        error: None,
        tool_calls: Vec::new(),
        feedback: Vec::new(),
        superseded_at: None,
    };
    let agent = Message {
        id: turn.reply.message_id,
        seq: 2,
        role: Role::Agent,
        content: turn.reply.content,
        created_at: fixture::at(99),
        author: None,
        engine: Some(turn.reply.engine),
        model: turn.reply.model,
        agent_version: Some(1),
        finish_reason: Some(turn.reply.finish_reason),
        usage: turn.reply.usage,
        client_message_id: None,
        turn_status: None,
        tool_calls: turn.reply.tool_calls,
        ..user.clone()
    };
    assert_eq!(
        lookup::messages(storage, conversation.id).await,
        [user, agent]
    );
}

/// Both orders return all messages, in pages of every length.
pub async fn messages_are_listed_in_both_orders(storage: &Store) {
    setup::chat(storage).await;
    let (_, conversation) = record_turns(storage, 0..4).await;
    let ascending: Vec<i64> = (1..=8).collect();
    let descending: Vec<i64> = (1..=8).rev().collect();
    for (order, expected) in [
        (ListingOrder::Ascending, ascending),
        (ListingOrder::Descending, descending),
    ] {
        for limit in [1, 3, 4, 8, 100] {
            let mut shown: Vec<i64> = Vec::new();
            while shown.len() < 8 {
                let (items, has_more) =
                    page(storage, &conversation, order, shown.last().copied(), limit).await;
                assert_eq!(items.len(), limit.min(8 - shown.len()));
                shown.extend(positions(&items));
                assert_eq!(has_more, shown.len() < 8, "after {shown:?}");
            }
            assert_eq!(shown, expected, "{order:?} in pages of {limit}");
        }
    }
}

/// A message that is stored during paging appears at the end of the ascending order, and nowhere
/// else.
pub async fn pages_of_messages_stay_correct_while_messages_are_added(storage: &Store) {
    setup::chat(storage).await;
    let (_, conversation) = record_turns(storage, 0..2).await;
    let (up, _) = page(storage, &conversation, ListingOrder::Ascending, None, 3).await;
    let (down, _) = page(storage, &conversation, ListingOrder::Descending, None, 3).await;
    record_turns(storage, 2..4).await;
    let after = up.last().map(|message| message.seq);
    let (rest, has_more) = page(storage, &conversation, ListingOrder::Ascending, after, 10).await;
    assert_eq!((positions(&rest), has_more), (vec![4, 5, 6, 7, 8], false));
    let after = down.last().map(|message| message.seq);
    let (rest, has_more) = page(storage, &conversation, ListingOrder::Descending, after, 10).await;
    assert_eq!((positions(&rest), has_more), (vec![1], false));
}

/// User messages have the status of their turn, and the reason if it ended without a complete reply;
/// agent messages have its tool calls.
pub async fn messages_show_the_state_of_their_turns(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = |number, turn_count| {
        fixture::begin_turn(number, &agent, fixture::existing(&conversation, turn_count))
    };
    let [failed, cancelled, running] = [begin(1, 0), begin(2, 1), begin(3, 2)];
    setup::start_turn(storage, &failed).await;
    setup::fail_turn(storage, &failed).await;
    setup::start_turn(storage, &cancelled).await;
    let partial = Reply {
        tool_calls: vec![fixture::tool_call()],
        ..fixture::reply(2)
    };
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(900));
    let turns = &storage.turns;
    let result = turns.cancel_turn(&tenant, cancelled.turn_id, Some(partial), None, &stamp);
    result.await.success();
    setup::start_turn(storage, &running).await;
    let messages = lookup::messages(storage, conversation.id).await;
    let error = |code: ProblemCode, retryable| MessageError {
        code,
        title: code.title().to_owned(),
        retryable,
    };
    let states: Vec<_> = messages
        .iter()
        .map(|message| (message.turn_status, message.error.clone()))
        .collect();
    let code = fixture::retryable_problem().code;
    let expected = [
        (Some(TurnStatus::Failed), Some(error(code, true))),
        (
            Some(TurnStatus::Cancelled),
            Some(error(ProblemCode::TurnCancelled, false)),
        ),
        (None, None),
        (Some(TurnStatus::InProgress), None),
    ];
    assert_eq!(states, expected);
    let calls = messages.iter().map(|message| message.tool_calls.len());
    assert_eq!(calls.collect::<Vec<_>>(), [0, 0, 1, 0]);
    assert_eq!(messages[2].tool_calls, [fixture::tool_call()]);
}

/// Superseded messages are listed on request only, in both orders.
pub async fn superseded_messages_are_listed_on_request(storage: &Store) {
    let (agent, conversation) = setup::chat_with_turns(storage, 2).await;
    let begin = fixture::begin_turn(10, &agent, fixture::existing(&conversation, 2));
    setup::start_turn(storage, &fixture::superseding(begin, 3, 2)).await;
    let (visible, all) = ([1, 2, 5].as_slice(), [1, 2, 3, 4, 5].as_slice());
    for (with_superseded, expected) in [(false, visible), (true, all)] {
        for order in [ListingOrder::Ascending, ListingOrder::Descending] {
            let mut expected = expected.to_vec();
            if order == ListingOrder::Descending {
                expected.reverse();
            }
            let (mut shown, mut has_more) = (Vec::new(), true);
            while has_more {
                let query = MessageQuery {
                    order,
                    after: shown.last().copied(),
                    limit: 2,
                    with_superseded,
                };
                let (items, more) = listed(storage, &conversation, &query).await;
                shown.extend(positions(&items));
                has_more = more;
            }
            assert_eq!(shown, expected, "{order:?}, {with_superseded}");
        }
    }
}

/// A conversation without messages has an empty page.
pub async fn a_conversation_without_messages_has_an_empty_page(storage: &Store) {
    let (_, conversation) = setup::chat(storage).await;
    for order in [ListingOrder::Ascending, ListingOrder::Descending] {
        assert_eq!(
            page(storage, &conversation, order, None, 5).await,
            (vec![], false)
        );
        assert_eq!(
            page(storage, &conversation, order, Some(1), 5).await,
            (vec![], false)
        );
    }
}

/// The page has a log position that is not later than its content.
pub async fn a_page_of_messages_has_its_log_position(storage: &Store) {
    setup::chat(storage).await;
    let (_, conversation) = record_turns(storage, 0..1).await;
    let query = MessageQuery {
        order: ListingOrder::Ascending,
        after: None,
        limit: 5,
        with_superseded: false,
    };
    let tenant = fixture::tenant();
    let result = storage
        .conversations
        .messages(&tenant, conversation.id, &query)
        .await;
    let head = crate::log::head(storage, &tenant).await;
    assert!(result.success().position <= head);
}
