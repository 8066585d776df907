//! Recording what a committed transaction has read and written.

use domain::{AgentId, ConversationId, Seq, TenantId};
use ports::{
    Facts, Rows,
    write_store::{
        AgentDeletion, AgentRow, AgentUpdate, ConversationAdvance, ConversationFacts,
        ConversationHandover, ConversationRow, ConversationUpdate, InTenant, MessageDeletion,
        MessageRow, TurnAssignment, TurnEnd, TurnRow, TurnStart, TurnWait,
    },
};

use super::{KnownFacts, KnownTenant, MAX_SKIPPED_BATCHES, Recorded};

impl KnownFacts {
    /// Records `facts`, which were read at one point in time, or assumed and confirmed, and the changes
    /// of `rows`, which the same transaction wrote.
    pub(crate) fn record(&mut self, facts: &Facts, rows: &Rows) {
        self.record_read(facts);
        self.record_written(rows);
    }

    fn record_read(&mut self, facts: &Facts) {
        for (tenant, head) in &facts.heads {
            self.enter(tenant, *head);
        }
        for (key, version) in &facts.agents {
            self.keep_agent(key, *version);
        }
        for (key, conversation) in &facts.conversations {
            self.keep_agent(
                &(key.0.clone(), conversation.agent_id),
                conversation.agent_version,
            );
            self.keep_conversation(key, conversation.clone());
        }
        for turn in facts.turns.values() {
            self.keep_turn(turn);
        }
    }

    fn record_written(&mut self, rows: &Rows) {
        // Every kind of row is named here, so that a new one is considered, too.
        let Rows {
            agents,
            agent_updates,
            agent_deletions,
            conversations,
            advances,
            conversation_updates,
            handovers,
            conversation_deletions,
            credentials: _,
            credential_updates: _,
            revocations: _,
            state: _,
            turns,
            ends,
            starts,
            waits,
            assignments,
            calls: _,
            steps: _,
            changed_steps: _,
            usage: _,
            users: _,
            erasures: _,
            ended_erasures: _,
            messages,
            rewritten: _,
            deleted_messages,
            superseded: _,
            answered: _,
            copies: _,
            notes: _,
            deleted_notes: _,
            files: _,
            file_uses: _,
            deleted_files: _,
            released_files: _,
            uploads: _,
            feedback: _,
            deleted_feedback: _,
            events: _,
            idempotency: _,
            released: _,
            heads,
        } = rows;
        self.record_agents(agents, agent_updates, agent_deletions);
        self.record_conversations(conversations, advances, conversation_updates, handovers);
        self.forget_conversations_of_staff(messages, deleted_messages);
        self.record_turns(turns, ends, starts);
        self.forget_turns(waits, assignments);
        for row in conversation_deletions {
            self.conversations.remove(&(row.tenant.clone(), row.id));
        }
        self.raise_heads(heads);
    }

    fn record_conversations(
        &mut self,
        created: &[ConversationRow],
        advanced: &[ConversationAdvance],
        updated: &[ConversationUpdate],
        handed_over: &[ConversationHandover],
    ) {
        for row in created {
            self.add_conversation(row);
        }
        for row in advanced {
            self.advance(row);
        }
        for row in updated {
            self.update_conversation(row);
        }
        for row in handed_over {
            self.hand_over(row);
        }
    }

    fn record_agents(
        &mut self,
        created: &[AgentRow],
        updated: &[AgentUpdate],
        deleted: &[AgentDeletion],
    ) {
        let created = created.iter().map(|row| (&row.tenant, &row.agent));
        let updated = updated.iter().map(|row| (&row.tenant, &row.agent));
        for (tenant, agent) in created.chain(updated) {
            self.keep_agent(&(tenant.clone(), agent.id), agent.version);
        }
        // The conversations of an agent that is not known are not used.
        for row in deleted {
            self.agents.remove(&(row.tenant.clone(), row.id));
        }
    }

    fn raise_heads(&mut self, heads: &[(TenantId, Seq)]) {
        for (tenant, head) in heads {
            if let Some(mut known) = self.tenants.get_mut(tenant) {
                known.head = *head;
            }
        }
    }

    /// Drops conversations with changed messages of staff, which are not the newest of a turn.
    fn forget_conversations_of_staff(
        &mut self,
        written: &[MessageRow],
        deleted: &[MessageDeletion],
    ) {
        let written = written.iter().filter(|row| row.message.is_of_staff());
        let written = written.map(|row| (&row.tenant, row.message.conversation_id));
        let deleted = deleted.iter().map(|row| (&row.tenant, row.conversation_id));
        for (tenant, id) in written.chain(deleted) {
            self.conversations.remove(&(tenant.clone(), id));
        }
    }

    fn forget_turns(&mut self, waits: &[TurnWait], assignments: &[TurnAssignment]) {
        let waits = waits.iter().map(|row| (&row.tenant, row.id));
        let assignments = assignments.iter().map(|row| (&row.tenant, row.id));
        for (tenant, id) in waits.chain(assignments) {
            self.forget_turn(tenant, id);
        }
    }

    fn record_turns(&mut self, begun: &[TurnRow], ended: &[TurnEnd], started: &[TurnStart]) {
        for row in begun {
            self.add_turn(row);
        }
        for row in ended {
            self.end_turn(row);
        }
        for row in started {
            self.start_turn(row);
        }
    }

    /// Makes the facts of a tenant valid at `head`; those recorded with another head are dropped.
    fn enter(&mut self, tenant: &TenantId, head: Seq) {
        let known = self.tenants.get(tenant).copied();
        if known.is_some_and(|known| known.head == head) {
            return;
        }
        self.last_epoch += 1;
        // A head that was known and is another one now was raised elsewhere.
        let misses = known.map_or(0, |known| known.misses.saturating_add(1));
        let known = KnownTenant {
            head,
            epoch: self.last_epoch,
            misses,
            // None after the first miss, then 1, 3, 7 …
            skipped: ((1 << misses.min(16)) / 2_u32)
                .saturating_sub(1)
                .min(MAX_SKIPPED_BATCHES),
        };
        self.tenants.insert(tenant.clone(), known);
    }

    /// Drops all facts of a tenant but its head.
    pub(super) fn forget(&mut self, tenant: &TenantId) {
        self.last_epoch += 1;
        if let Some(mut known) = self.tenants.get_mut(tenant) {
            known.epoch = self.last_epoch;
        }
    }

    fn recorded<T>(&self, tenant: &TenantId, value: T) -> Option<Recorded<T>> {
        let epoch = self.tenants.get(tenant)?.epoch;
        Some(Recorded { epoch, value })
    }

    fn keep_agent(&mut self, key: &InTenant<AgentId>, version: i64) {
        if let Some(recorded) = self.recorded(&key.0, version) {
            self.agents.insert(key.clone(), recorded);
        }
    }

    pub(super) fn keep_conversation(
        &mut self,
        key: &InTenant<ConversationId>,
        facts: ConversationFacts,
    ) {
        if let Some(recorded) = self.recorded(&key.0, facts) {
            self.conversations.insert(key.clone(), recorded);
        }
    }

    /// Keeps a turn that has not ended; an ended one is needed only for repeated writes.
    pub(super) fn keep_turn(&mut self, row: &TurnRow) {
        let key = (row.tenant.clone(), row.turn.id);
        if row.turn.status.is_final() {
            self.turns.remove(&key);
        } else if let Some(recorded) = self.recorded(&row.tenant, row.clone()) {
            self.turns.insert(key, recorded);
        }
    }
}
