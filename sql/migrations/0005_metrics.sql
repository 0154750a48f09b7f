-- Which worker tells metrics what the database says, so that not all of them read it.
create table holdfast.metrics_reader (
  is_only boolean primary key default true check (is_only),
  reader uuid,
  until timestamptz
);

insert into holdfast.metrics_reader default values;
