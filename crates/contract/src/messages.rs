//! `ConversationRepository::messages`: pages in both directions.

use domain::{Agent, Conversation, Message, Role};
use ports::{MessageOrder, MessageQuery, Storage};

use crate::{answers::Answer as _, found, given, samples};

async fn page(
    storage: &Storage,
    talk: &Conversation,
    order: MessageOrder,
    after: Option<i64>,
    limit: usize,
) -> (Vec<Message>, bool) {
    let query = MessageQuery {
        order,
        after,
        limit,
    };
    let tenant = samples::tenant();
    let answer = storage
        .conversations
        .messages(&tenant, talk.id, &query)
        .await;
    let page = answer.answered().value.expect("the conversation is there");
    (page.items, page.has_more)
}

fn places(messages: &[Message]) -> Vec<i64> {
    messages.iter().map(|message| message.seq).collect()
}

async fn exchanges(storage: &Storage, numbers: std::ops::Range<u32>) -> (Agent, Conversation) {
    let (agent, talk) = (
        samples::agent(1),
        samples::conversation(1, samples::agent_id(1)),
    );
    for number in numbers {
        let target = samples::existing(&talk, i64::from(number));
        let exchange = samples::exchange(number, &agent, target);
        given::recorded(storage, exchange).await;
    }
    (agent, talk)
}

/// Every member of a message, of both sides.
pub async fn keeps_who_said_what_and_when(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let mut exchange = samples::exchange(7, &agent, samples::existing(&talk, 0));
    exchange.finished_at = samples::at(99);
    exchange.reply.finish_reason = domain::FinishReason::Length;
    exchange.reply.usage = Some(domain::Usage {
        input_tokens: 12,
        output_tokens: 3_000_000_000,
    });
    given::recorded(storage, exchange.clone()).await;
    let user = Message {
        id: exchange.question.message_id,
        conversation_id: talk.id,
        turn_id: Some(exchange.question.turn_id),
        seq: 1,
        role: Role::User,
        content: exchange.question.input,
        created_at: samples::at(7),
        engine: None,
        agent_version: None,
        finish_reason: None,
        usage: None,
    };
    let agent = Message {
        id: exchange.reply.message_id,
        seq: 2,
        role: Role::Agent,
        content: exchange.reply.content,
        created_at: samples::at(99),
        engine: Some(exchange.reply.engine),
        agent_version: Some(1),
        finish_reason: Some(exchange.reply.finish_reason),
        usage: exchange.reply.usage,
        ..user.clone()
    };
    assert_eq!(found::messages(storage, talk.id).await, [user, agent]);
}

/// Both orders, in pages of every length.
pub async fn lists_messages_in_both_orders(storage: &Storage) {
    given::chat(storage).await;
    let (_, talk) = exchanges(storage, 0..4).await;
    let ascending: Vec<i64> = (1..=8).collect();
    let descending: Vec<i64> = (1..=8).rev().collect();
    for (order, expected) in [
        (MessageOrder::Ascending, ascending),
        (MessageOrder::Descending, descending),
    ] {
        for limit in [1, 3, 4, 8, 100] {
            let mut shown: Vec<i64> = Vec::new();
            while shown.len() < 8 {
                let (items, has_more) =
                    page(storage, &talk, order, shown.last().copied(), limit).await;
                assert_eq!(items.len(), limit.min(8 - shown.len()));
                shown.extend(places(&items));
                assert_eq!(has_more, shown.len() < 8, "after {shown:?}");
            }
            assert_eq!(shown, expected, "{order:?} in pages of {limit}");
        }
    }
}

/// What is said while paging comes at the end of the ascending order, and nowhere else.
pub async fn pages_of_messages_stay_right_while_more_is_said(storage: &Storage) {
    given::chat(storage).await;
    let (_, talk) = exchanges(storage, 0..2).await;
    let (up, _) = page(storage, &talk, MessageOrder::Ascending, None, 3).await;
    let (down, _) = page(storage, &talk, MessageOrder::Descending, None, 3).await;
    exchanges(storage, 2..4).await;
    let after = up.last().map(|message| message.seq);
    let (rest, has_more) = page(storage, &talk, MessageOrder::Ascending, after, 10).await;
    assert_eq!((places(&rest), has_more), (vec![4, 5, 6, 7, 8], false));
    let after = down.last().map(|message| message.seq);
    let (rest, has_more) = page(storage, &talk, MessageOrder::Descending, after, 10).await;
    assert_eq!((places(&rest), has_more), (vec![1], false));
}

/// A conversation in which nothing was said has messages: none.
pub async fn a_silent_conversation_has_an_empty_page(storage: &Storage) {
    let (_, talk) = given::chat(storage).await;
    for order in [MessageOrder::Ascending, MessageOrder::Descending] {
        assert_eq!(page(storage, &talk, order, None, 5).await, (vec![], false));
        assert_eq!(
            page(storage, &talk, order, Some(1), 5).await,
            (vec![], false)
        );
    }
}

/// The page carries a position of the log not later than what it shows.
pub async fn a_page_of_messages_tells_its_position(storage: &Storage) {
    given::chat(storage).await;
    let (_, talk) = exchanges(storage, 0..1).await;
    let query = MessageQuery {
        order: MessageOrder::Ascending,
        after: None,
        limit: 5,
    };
    let tenant = samples::tenant();
    let answer = storage
        .conversations
        .messages(&tenant, talk.id, &query)
        .await;
    let head = crate::log::head(storage, &tenant).await;
    assert!(answer.answered().position <= head);
}
