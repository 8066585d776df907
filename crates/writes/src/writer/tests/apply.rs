//! Writing of rows to the model.

use domain::{Handler, TurnStatus};
use ports::{
    ConversationName, Rows,
    write_store::{ConversationFacts, CredentialFacts},
};

use super::model::Tables;

impl Tables {
    pub(super) fn apply(&mut self, rows: &Rows) {
        for row in &rows.agents {
            let key = (row.tenant.clone(), row.agent.id);
            assert_eq!(self.agents.insert(key, row.agent.version), None);
        }
        for row in &rows.agent_updates {
            let key = (row.tenant.clone(), row.agent.id);
            let before = self.agents.insert(key, row.agent.version);
            assert_eq!(before, Some(row.agent.version - 1));
        }
        self.apply_credentials(rows);
        for row in &rows.conversations {
            let conversation = &row.conversation;
            let facts = ConversationFacts::without_open_turns(conversation, row.turn_count, 0);
            let key = (row.tenant.clone(), conversation.id);
            if let Some(name) = ConversationName::of(conversation) {
                let name = (row.tenant.clone(), name);
                assert_eq!(self.named.insert(name, conversation.id), None);
            }
            self.conversations.insert(key, facts);
        }
        for row in &rows.advances {
            let key = (row.tenant.clone(), row.id);
            let facts = self.conversations.get_mut(&key).expect("it exists");
            facts.last_message_seq = row.last_message_seq;
            facts.superseded_count = row.superseded_count;
            facts.turn_count = row.turn_count;
            facts.waiting_since = row.waiting_since;
            facts.updated_at = row.updated_at;
            facts.last_message_at = row.last_message_at.or(facts.last_message_at);
        }
        for row in &rows.conversation_updates {
            let key = (row.tenant.clone(), row.conversation.id);
            let facts = self.conversations.get_mut(&key).expect("it exists");
            facts.version = row.conversation.version;
            facts.handled_by = row.conversation.handled_by;
            facts.waiting_since = row.conversation.waiting_since;
            facts.user_id.clone_from(&row.conversation.user_id);
            facts.updated_at = row.conversation.updated_at;
            self.named.retain(|_, id| *id != row.conversation.id);
            if let Some(name) = ConversationName::of(&row.conversation) {
                let name = (row.tenant.clone(), name);
                assert_eq!(self.named.insert(name, row.conversation.id), None);
            }
        }
        self.apply_handovers(rows);
        for row in &rows.conversation_deletions {
            let key = (row.tenant.clone(), row.id);
            self.conversations.remove(&key);
            self.messages.remove(&key);
            self.named.retain(|_, id| *id != row.id);
        }
        self.apply_turns(rows);
        self.apply_messages(rows);
        self.heads.extend(rows.heads.iter().cloned());
    }

    fn apply_handovers(&mut self, rows: &Rows) {
        for row in &rows.handovers {
            let key = (row.tenant.clone(), row.id);
            let facts = self.conversations.get_mut(&key).expect("it exists");
            assert_eq!(facts.version, row.version - 1);
            facts.version = row.version;
            facts.handled_by = Handler::Staff;
            facts.waiting_since = Some(row.handover.at);
            facts.updated_at = row.handover.at;
        }
    }

    fn apply_credentials(&mut self, rows: &Rows) {
        for row in &rows.credentials {
            let facts = CredentialFacts {
                tenant: row.tenant.clone(),
                kind: row.kind,
                is_revoked: false,
            };
            assert_eq!(self.credentials.insert(row.id.clone(), facts), None);
            self.whole_credentials.insert(row.id.clone(), row.clone());
        }
        for row in &rows.credential_updates {
            let before = self.whole_credentials.insert(row.id.clone(), row.clone());
            assert!(before.is_some_and(|before| before != *row));
        }
        for row in &rows.revocations {
            let credential = self.credentials.get_mut(&row.id).expect("it exists");
            credential.is_revoked = true;
            let whole = self.whole_credentials.get_mut(&row.id);
            whole.expect("it exists").revoked_at = Some(row.revoked_at);
        }
    }

    fn apply_messages(&mut self, rows: &Rows) {
        for row in &rows.copies {
            let messages = self.messages.get(&(row.tenant.clone(), row.from));
            let copied = messages.into_iter().flatten();
            let copied =
                copied.filter(|(seq, is_superseded)| **seq <= row.to_seq && !**is_superseded);
            let copied = (1..).zip(copied).map(|(seq, _)| (seq, false)).collect();
            self.messages.insert((row.tenant.clone(), row.into), copied);
        }
        for row in &rows.superseded {
            let key = (row.tenant.clone(), row.conversation_id);
            let messages = self.messages.get_mut(&key).expect("it has messages");
            for is_superseded in messages.range_mut(row.from_seq..).map(|(_, it)| it) {
                *is_superseded = true;
            }
        }
        for row in &rows.messages {
            let key = (row.tenant.clone(), row.message.conversation_id);
            let messages = self.messages.entry(key).or_default();
            assert_eq!(messages.insert(row.message.seq, false), None);
        }
    }

    fn apply_turns(&mut self, rows: &Rows) {
        for row in &rows.turns {
            let key = (row.tenant.clone(), row.turn.id);
            self.turns.insert(key, row.clone());
        }
        for row in &rows.ends {
            let key = (row.tenant.clone(), row.id);
            let turn = self.turns.get_mut(&key).expect("it exists");
            turn.turn.status = row.status;
            turn.turn.error.clone_from(&row.error);
            turn.turn.finished_at = Some(row.finished_at);
        }
        for row in &rows.starts {
            let key = (row.tenant.clone(), row.id);
            let turn = self.turns.get_mut(&key).expect("it exists");
            turn.turn.status = TurnStatus::InProgress;
            turn.turn.agent_version = Some(row.agent_version);
            turn.turn.started_at = Some(row.started_at);
            turn.node = Some(row.node);
            turn.turn_number = Some(row.turn_number);
            turn.message_seq = Some(row.message_seq);
        }
        for row in &rows.waits {
            let turn = self.turns.get_mut(&(row.tenant.clone(), row.id));
            let turn = turn.expect("it exists");
            turn.turn.status = TurnStatus::RequiresAction;
            turn.reply_seq = row.reply_seq;
            turn.node = None;
        }
        for row in &rows.assignments {
            let key = (row.tenant.clone(), row.id);
            let turn = self.turns.get_mut(&key).expect("it exists");
            turn.turn.status = TurnStatus::InProgress;
            turn.node = row.node;
        }
        for row in &rows.steps {
            let journal = self.journals.entry((row.tenant.clone(), row.turn_id));
            let entry = journal.or_default().entry(row.number);
            entry.or_insert_with(|| row.step.clone());
        }
        for row in &rows.changed_steps {
            let journal = self.journals.get_mut(&(row.tenant.clone(), row.turn_id));
            let entry = journal.and_then(|journal| journal.get_mut(&row.number));
            let entry = entry.expect("it has begun");
            if !entry.has_ended() {
                entry.clone_from(&row.step);
            }
        }
    }
}
