-- Who may log in.
CREATE TABLE IF NOT EXISTS shop.users (
    id integer PRIMARY KEY,
    name text NOT NULL
);
CREATE INDEX users_by_name ON shop.users (name);

/* How many there are. */
CREATE OR REPLACE FUNCTION count_users(prefix text) RETURNS integer AS $$
BEGIN
    RETURN (SELECT count(*) FROM shop.users WHERE name LIKE prefix);
END;
$$ LANGUAGE plpgsql;

CREATE VIEW names AS SELECT name FROM shop.users;

INSERT INTO shop.users VALUES (1, 'root');
