-- ProbeBatches: the batch of each object of Kubernetes. Its id is written before the batch is created, so an object has
-- one batch, however often its creation begins. The row goes when the object is gone and its batch is cancelled.
create table batch_objects (
  uid text primary key,
  namespace text not null,
  name text not null,
  batch_id uuid not null
);
create index batch_objects_batch on batch_objects (batch_id);
