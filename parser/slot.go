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
	_, rest, found := bytes.Cut(key, []byte{'{'})
	if !found {
		return key
	}
	if tag, _, closed := bytes.Cut(rest, []byte{'}'}); closed && len(tag) > 0 {
		return tag
	}
	return key
}

// crc16 is CRC16-XMODEM: polynomial 0x1021, most significant bit first, from
// zero. It takes two bytes at a time.
func crc16(b []byte) uint16 {
	var crc uint16
	for ; len(b) >= 2; b = b[2:] {
		crc = crcTables[1][byte(crc>>8)^b[0]] ^ crcTables[0][byte(crc)^b[1]]
	}
	for _, c := range b {
		crc = crc<<8 ^ crcTables[0][byte(crc>>8)^c]
	}
	return crc
}

// crcTables hold what a byte adds to the sum: the last one, and the one before
// it.
var crcTables = func() (tables [2][256]uint16) {
	for i := range tables[0] {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc >> 15
			crc = crc<<1 ^ carry*0x1021
		}
		tables[0][i] = crc
	}
	for i, crc := range tables[0] {
		tables[1][i] = crc<<8 ^ tables[0][crc>>8]
	}
	return tables
}()
