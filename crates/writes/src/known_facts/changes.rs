//! Changing the known facts as a committed transaction has changed the stored ones.

use domain::{ConversationId, Handler, TenantId, TurnId, TurnStatus};
use ports::write_store::{
    ConversationAdvance, ConversationFacts, ConversationHandover, ConversationRow,
    ConversationUpdate, TurnEnd, TurnRow, TurnStart,
};

use super::KnownFacts;

impl KnownFacts {
    pub(super) fn add_conversation(&mut self, row: &ConversationRow) {
        if row.staff_messages > 0 {
            // The newest message of a turn is not known.
            return;
        }
        let conversation = &row.conversation;
        let agent = (row.tenant.clone(), conversation.agent_id);
        let Some(agent_version) = self.current(&self.agents, &agent) else {
            return;
        };
        let facts =
            ConversationFacts::without_open_turns(conversation, row.turn_count, agent_version);
        self.keep_conversation(&(row.tenant.clone(), conversation.id), facts);
    }

    pub(super) fn advance(&mut self, row: &ConversationAdvance) {
        self.change((&row.tenant, row.id), |facts| {
            if row.superseded_count != facts.superseded_count {
                // The newest message of a turn that is not superseded is not known.
                return false;
            }
            if row.last_message_seq > facts.last_message_seq {
                facts.last_message_seq = row.last_message_seq;
                facts.visible_message_seq = row.last_message_seq;
            }
            facts.turn_count = row.turn_count;
            facts.staff_messages = row.staff_messages;
            facts.waiting_since = row.waiting_since;
            facts.updated_at = row.updated_at;
            facts.last_message_at = row.last_message_at.or(facts.last_message_at);
            true
        });
    }

    pub(super) fn update_conversation(&mut self, row: &ConversationUpdate) {
        self.change((&row.tenant, row.conversation.id), |facts| {
            facts.version = row.conversation.version;
            facts.handled_by = row.conversation.handled_by;
            facts.waiting_since = row.conversation.waiting_since;
            facts.user_id.clone_from(&row.conversation.user_id);
            facts.updated_at = row.conversation.updated_at;
            true
        });
    }

    pub(super) fn hand_over(&mut self, row: &ConversationHandover) {
        self.change((&row.tenant, row.id), |facts| {
            facts.version = row.version;
            facts.handled_by = Handler::Staff;
            facts.waiting_since = Some(row.handover.at);
            facts.updated_at = row.handover.at;
            true
        });
    }

    pub(super) fn add_turn(&mut self, row: &TurnRow) {
        self.keep_turn(row);
        let id = row.turn.id;
        self.change((&row.tenant, row.turn.conversation_id), |facts| {
            match row.turn.status {
                TurnStatus::InProgress | TurnStatus::RequiresAction => facts.running = Some(id),
                // The queue behind it is read again.
                TurnStatus::Queued if row.turn.continues.is_some() => return false,
                TurnStatus::Queued => {
                    facts.waiting += 1;
                    facts.first_waiting.get_or_insert(id);
                }
                TurnStatus::Completed | TurnStatus::Failed | TurnStatus::Cancelled => {}
            }
            true
        });
    }

    /// Drops a turn that was given away or waits, and its conversation.
    pub(super) fn forget_turn(&mut self, tenant: &TenantId, id: TurnId) {
        match self.turns.remove(&(tenant.clone(), id)) {
            Some((_, known)) => {
                let conversation = known.value.turn.conversation_id;
                self.conversations.remove(&(tenant.clone(), conversation));
            }
            None => self.forget(tenant),
        }
    }

    pub(super) fn end_turn(&mut self, row: &TurnEnd) {
        let Some((_, ended)) = self.turns.remove(&(row.tenant.clone(), row.id)) else {
            return self.forget(&row.tenant);
        };
        let conversation = ended.value.turn.conversation_id;
        self.change((&row.tenant, conversation), |facts| {
            facts.is_waiting = false;
            // The next of several queued turns is not known.
            facts.running.take() == Some(row.id)
        });
    }

    pub(super) fn start_turn(&mut self, row: &TurnStart) {
        let Some((_, started)) = self.turns.remove(&(row.tenant.clone(), row.id)) else {
            return self.forget(&row.tenant);
        };
        let mut turn = started.value;
        turn.turn.status = TurnStatus::InProgress;
        turn.turn.agent_version = Some(row.agent_version);
        turn.turn.started_at = Some(row.started_at);
        turn.node = Some(row.node);
        turn.turn_number = Some(row.turn_number);
        turn.message_seq = Some(row.message_seq);
        self.change((&row.tenant, turn.turn.conversation_id), |facts| {
            facts.running = Some(row.id);
            facts.waiting = facts.waiting.saturating_sub(1);
            facts.first_waiting = None;
            // The next of several queued turns is not known.
            facts.waiting == 0 && facts.continuations == 0
        });
        self.keep_turn(&turn);
    }

    /// Changes the known facts of a conversation, or drops them if `change` returns false.
    fn change(
        &mut self,
        (tenant, id): (&TenantId, ConversationId),
        change: impl FnOnce(&mut ConversationFacts) -> bool,
    ) {
        let key = (tenant.clone(), id);
        let Some(mut facts) = self.current(&self.conversations, &key) else {
            return;
        };
        if change(&mut facts) {
            self.keep_conversation(&key, facts);
        } else {
            self.conversations.remove(&key);
        }
    }
}
