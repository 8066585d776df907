//! What happens in all answers of an engine, for tests that follow it.

use std::{collections::BTreeSet, sync::Arc};

use tokio::sync::watch;

/// Shared by an engine and its streams.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stage {
    scene: Arc<watch::Sender<Scene>>,
}

/// How things stand.
#[derive(Debug, Default)]
pub(crate) struct Scene {
    /// How often the engine was asked.
    pub(crate) asked: usize,
    /// Streams that have neither ended nor been dropped.
    pub(crate) open_streams: usize,
    open_gates: BTreeSet<String>,
}

/// A stream's place on the stage, which it leaves when this is dropped.
#[derive(Debug)]
pub(crate) struct Presence {
    stage: Stage,
}

impl Stage {
    pub(crate) fn note_question(&self) {
        self.scene.send_modify(|scene| scene.asked += 1);
    }

    pub(crate) fn enter(&self) -> Presence {
        self.scene.send_modify(|scene| scene.open_streams += 1);
        Presence {
            stage: self.clone(),
        }
    }

    /// Opens a gate for good, for those who wait and those who are to come.
    pub(crate) fn open(&self, gate: &str) {
        self.scene.send_modify(|scene| {
            scene.open_gates.insert(gate.to_owned());
        });
    }

    pub(crate) async fn until_open(&self, gate: &str) {
        self.until(|scene| scene.open_gates.contains(gate)).await;
    }

    /// What can be read off the scene now.
    pub(crate) fn now<T>(&self, read: impl FnOnce(&Scene) -> T) -> T {
        read(&self.scene.borrow())
    }

    /// Waits until things stand so.
    pub(crate) async fn until(&self, holds: impl FnMut(&Scene) -> bool) {
        let mut scene = self.scene.subscribe();
        // It fails when nobody can change the scene any more, and `self` can.
        let _ = scene.wait_for(holds).await;
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let scene = &self.stage.scene;
        scene.send_modify(|scene| scene.open_streams -= 1);
    }
}
