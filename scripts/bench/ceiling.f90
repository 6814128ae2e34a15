! Writes as many BLTM.FLW records as asked for, with nothing computed: the time
! that any Fortran program needs for this file alone.
program ceiling
  implicit none
  integer :: steps, branches, grids, k, b, g
  character(len=16) :: word
  real(8) :: q
  call get_command_argument(1, word); read (word, *) steps
  call get_command_argument(2, word); read (word, *) branches
  call get_command_argument(3, word); read (word, *) grids
  open (unit=10, file='CEILING.FLW', status='replace')
  do k = 0, steps
    do b = 1, branches
      do g = 1, grids - 1
        q = 20d0 + 1d-3*g + 1d-2*b + 1d-4*k
        write (10, '(3I5,4E18.5)') k, b, g, q, 2d0*q, 3d0*q, 0d0
      end do
      write (10, '(3I5,E18.5)') k, b, grids, q
    end do
  end do
end program ceiling
