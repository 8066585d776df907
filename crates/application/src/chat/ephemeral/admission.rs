//! Checks of chats of which nothing is stored: users may send less than keys and clients.

use domain::{
    Agent, FaultCode, InputFault, Principal, Role,
    fault::{list::MAX_FAULTS, push_index},
};

use super::EphemeralChat;
use crate::conversations::own_user_id;

impl EphemeralChat {
    /// Returns the chat as its sender may send it to an agent. Nobody can check what a user says that the agent
    /// has said, or what a tool has returned, so a user sends only messages of the user.
    pub(super) fn admit(
        mut self,
        sender: &Principal,
        agent: &Agent,
    ) -> Result<Self, Vec<InputFault>> {
        if sender.confined_to().is_none() {
            return Ok(self);
        }
        let mut faults = Vec::new();
        match own_user_id(sender, self.user_id.as_deref()) {
            Ok(own) => self.user_id = own,
            Err(rejected) => {
                let (code, detail) = (FaultCode::NotCombinable, rejected.to_string());
                faults.push(InputFault::new("/userId", code, detail));
            }
        }
        if agent.config.allow_unrecorded != Some(true) {
            let detail = "the agent accepts no unrecorded chats from its users";
            faults.push(InputFault::new("/store", FaultCode::NotCombinable, detail));
        }
        if self.omits_refused_messages {
            self.history.retain(|message| message.role == Role::User);
        }
        for (index, message) in self.history.iter().enumerate() {
            if message.role != Role::User && faults.len() < MAX_FAULTS {
                let mut pointer = String::from("/history");
                push_index(&mut pointer, index);
                pointer.push_str("/role");
                let detail = "must be 'user': a user cannot say what others have said";
                faults.push(InputFault::new(pointer, FaultCode::NotCombinable, detail));
            }
        }
        self.steps.clear();
        self.client_tools.clear();
        if faults.is_empty() {
            return Ok(self);
        }
        Err(faults)
    }
}
