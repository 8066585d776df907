use std::task::Poll;

use futures::{FutureExt as _, future::join_all};

use super::*;

fn tenant(name: &str) -> TenantId {
    name.parse().unwrap()
}

fn queue() -> Arc<TenantQueue> {
    Arc::new(TenantQueue::new(QueueLimits {
        running: 2,
        running_of_tenant: 1,
        waiting: 6,
        waiting_of_tenant: 4,
    }))
}

#[test]
fn tenants_take_turns_within_their_share() {
    let queue = queue();
    let mut hostile = [(); 4].map(|()| queue.enqueue(&tenant("hostile")).unwrap());
    let first = hostile[0].try_recv().unwrap();
    assert!(hostile[1].try_recv().is_err(), "its share is used");

    let mut other = queue.enqueue(&tenant("other")).unwrap();
    let other_permit = other.try_recv().unwrap();
    let mut third = queue.enqueue(&tenant("third")).unwrap();
    assert!(
        third.try_recv().is_err(),
        "the limit of running jobs is reached"
    );

    drop(first);
    let _second = hostile[1].try_recv().unwrap();
    drop(other_permit);
    let _third_permit = third.try_recv().unwrap();
    assert!(hostile[2].try_recv().is_err());
}

#[test]
fn too_many_jobs_of_one_tenant_are_rejected() {
    let queue = queue();
    let mut jobs = Vec::new();
    for _ in 0..5 {
        jobs.push(queue.enqueue(&tenant("hostile")).unwrap());
    }
    assert!(queue.enqueue(&tenant("hostile")).is_none());
    assert!(queue.enqueue(&tenant("other")).is_some());
    // A cancelled job makes room.
    drop(jobs.pop());
    assert!(queue.enqueue(&tenant("hostile")).is_some());
}

#[test]
fn a_cancelled_job_holds_no_permit() {
    let queue = queue();
    let mut running = queue.enqueue(&tenant("a")).unwrap();
    let permit = running.try_recv().unwrap();
    let unread = queue.enqueue(&tenant("b")).unwrap();
    let cancelled = queue.enqueue(&tenant("a")).unwrap();
    let mut last = queue.enqueue(&tenant("a")).unwrap();
    drop(cancelled);
    drop(unread);
    drop(permit);
    assert!(last.try_recv().is_ok());
    assert!(queue.enqueue(&tenant("c")).unwrap().try_recv().is_ok());
}

#[tokio::test]
async fn a_hostile_tenant_does_not_block_others() {
    let pool = CpuPool::with_threads(1).unwrap();
    let endless = |_slice: TimeSlice| Poll::<()>::Pending;
    let hostile = (0..8).map(|_| async {
        let admission = pool.admit(&tenant("hostile")).await.unwrap();
        admission.run(endless).await
    });
    let hostile = join_all(hostile);
    let other = async {
        let admission = pool.admit(&tenant("other")).await.unwrap();
        let mut slices = 0;
        let job = move |_slice: TimeSlice| {
            slices += 1;
            if slices < 3 {
                Poll::Pending
            } else {
                Poll::Ready(slices)
            }
        };
        admission.run(job).await.unwrap()
    };
    futures::pin_mut!(hostile);
    assert!(hostile.as_mut().now_or_never().is_none());
    futures::select_biased! {
        slices = other.fuse() => assert_eq!(slices, 3),
        _ = hostile.fuse() => panic!("endless jobs ended"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_waits_too_long_is_rejected() {
    let pool = CpuPool::with_threads(1).unwrap();
    let _held = pool.admit(&tenant("a")).await.unwrap();
    let rejected = pool.admit(&tenant("a")).await.unwrap_err();
    assert!(matches!(rejected, PoolError::Overloaded));
}
