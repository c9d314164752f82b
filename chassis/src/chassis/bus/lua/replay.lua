-- Publishes a dead letter's event again and removes the letter, in one step: a second press finds nothing.
-- KEYS: the dead letters, the partition's stream; ARGV: the letter's id, the event's fields...
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return false end
local fields = {}
for i = 2, #ARGV do fields[#fields + 1] = ARGV[i] end
return redis.call('XADD', KEYS[2], '*', unpack(fields))
