-- A document that takes many requests to embed holds its refresh still for minutes: what moves meanwhile is counted.

ALTER TABLE refreshes
    ADD COLUMN texts integer NOT NULL DEFAULT 0,            -- embedded so far of documents that take several requests
    ADD COLUMN texts_at timestamptz;                        -- when the last of them were
