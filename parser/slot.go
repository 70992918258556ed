package parser

import "bytes"

// Slots is how many hash slots a Redis Cluster has.
const Slots = 16384

// Slot returns the hash slot of a key, 0 to Slots-1, as the cluster
// specification has it: CRC16 of the key's hash tag, or of all of it where it
// has none.
func Slot(key []byte) int { return int(crc16(hashTag(key)) % Slots) }

// hashTag returns what stands between the first { and the first } behind it,
// if that is not empty; else the key.
func hashTag(key []byte) []byte {
	open := bytes.IndexByte(key, '{')
	if open < 0 {
		return key
	}
	if n := bytes.IndexByte(key[open+1:], '}'); n > 0 {
		return key[open+1:][:n]
	}
	return key
}

// crc16 is CRC16-XMODEM: polynomial 0x1021, most significant bit first, from
// zero. It takes eight bytes at a time, and two.
func crc16(b []byte) uint16 {
	var crc uint16
	t := &crcTables
	for ; len(b) >= 8; b = b[8:] {
		crc = t[7][byte(crc>>8)^b[0]] ^ t[6][byte(crc)^b[1]] ^
			t[5][b[2]] ^ t[4][b[3]] ^ t[3][b[4]] ^ t[2][b[5]] ^ t[1][b[6]] ^ t[0][b[7]]
	}
	for ; len(b) >= 2; b = b[2:] {
		crc = t[1][byte(crc>>8)^b[0]] ^ t[0][byte(crc)^b[1]]
	}
	for _, c := range b {
		crc = crc<<8 ^ t[0][byte(crc>>8)^c]
	}
	return crc
}

// crcTables hold what a byte adds to the sum: the last one, and those before it.
var crcTables = func() (tables [8][256]uint16) {
	for i := range tables[0] {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc >> 15
			crc = crc<<1 ^ carry*0x1021
		}
		tables[0][i] = crc
	}
	for n := range len(tables) - 1 {
		for i, crc := range tables[n] {
			tables[n+1][i] = crc<<8 ^ tables[0][crc>>8]
		}
	}
	return tables
}()
